"""Models, adapters and tokenizers of the Hub: what their small files say, and how many parameters the Hub counts.

Covered: the files that `model_files.wanted` names, at the revision that is requested. Not covered: models in subfolders; parameters of weights that
are not safetensors.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from holdfast.adapters.hub.repos import MAIN, fetch_info, fetch_repo
from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.local.model_files import model_of, wanted
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError


def fetch_model(asking: HubSession, reference: Reference) -> ModelFacts:
    """Return the known facts about a model; if it does not exist, or not for this token, only that.

    Raises:
        SourceError: The Hub does not say.
    """
    name, revision = reference.name, reference.revision
    repo = fetch_repo(asking, "model", name, revision)
    if not repo.exists or repo.commit is None:
        return ModelFacts(files=None, repo=repo)
    found = _fetch_texts(asking, repo, revision) if repo.readable else {}
    info = fetch_info(asking, "model", name, revision) or {}
    return replace(model_of(repo.files, found, repo=repo), parameters=parse_parameters(info))


def _fetch_texts(asking: HubSession, repo: Repo, revision: str | None) -> dict[str, str]:
    """Return the texts of a model's small files, by their names.

    Raises:
        SourceError: The Hub does not give one of them.
    """
    names = wanted(repo.files)
    texts = asking.together(*(partial(fetch_text, asking, repo, revision, path) for path in names))
    lost = next((each for each in texts if isinstance(each, SourceError)), None)
    if lost:
        raise lost
    return {path: text for path, text in zip(names, texts, strict=True) if text is not None}


def fetch_text(asking: HubSession, repo: Repo, revision: str | None, path: str) -> str | None:
    """Return the text of a file, None if it is none.

    Raises:
        SourceError: The Hub does not give it.
    """
    at = (repo.kind, repo.name, revision or repo.commit or MAIN)
    reply = asking.once(("file", at, path), partial(asking.file, at, path))
    if not reply.ok:
        raise reply.unexpected()
    try:
        return reply.body.decode()
    except UnicodeDecodeError:
        return None


def parse_parameters(info: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of parameters by dtype as the Hub counts them; empty if it does not."""
    weights = info.get("safetensors")
    counts = weights.get("parameters") if isinstance(weights, Mapping) else None
    known = counts if isinstance(counts, Mapping) else {}
    return {str(kind): count for kind, count in known.items() if isinstance(count, int)}
