"""The facts about a model's files, wherever they are: a folder, the cache, or the Hub."""

from pathlib import Path
from typing import Final

from holdfast.adapters import hub
from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.hub.cached import cached_folder
from holdfast.adapters.local.models import LocalModels
from holdfast.app.models.near_files import suggest_path
from holdfast.catalog.builtin import BUILTIN, MODELS
from holdfast.catalog.hub.repositories import may_be_repository
from holdfast.catalog.references import some_of
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.text.nearest import suggest_one

WEIGHTS: Final = (".safetensors", ".bin", ".index.json")


def model_facts(name: str, *, offline: bool, where: str) -> ModelFacts:
    """Return the facts about a model's files.

    Raises:
        UsageError: There is no such model.
    """
    if name.startswith(BUILTIN):
        raise UsageError(f"holdfast makes no model {name}", where=where, fix=suggest_one(name, tuple(MODELS)))
    path = expanded(name)
    if is_there(path):
        if not path.is_dir():
            raise UsageError(f"{name} is a file, and no model", where=where, fix="name the folder of a model")
        return LocalModels().find(name) or ModelFacts(files=None)
    if not may_be_repository(name) or name.startswith((".", "/", "~")):
        raise _absent(name, where)
    return _cached(name) or _of_hub(name, offline=offline, where=where)


def _absent(name: str, where: str) -> UsageError:
    fix = suggest_path(expanded(name), "name a folder, a run, or a model of the Hub", Path.is_dir)
    return UsageError(f"no such model: {name}", where=where, fix=fix)


def _cached(name: str) -> ModelFacts | None:
    """Return the facts about a model that was downloaded before; None if it was not, or not whole."""
    folder = cached_folder(name)
    found = LocalModels().find(str(folder)) if folder else None
    whole = found is not None and bool(found.files) and any(each.endswith(WEIGHTS) for each in found.files or ())
    return found if whole else None


def _of_hub(name: str, *, offline: bool, where: str) -> ModelFacts:
    if offline:
        otherwise = "name a folder that is here, or leave out --offline once the Hub can be reached"
        fix = suggest_path(expanded(name), otherwise, Path.is_dir)
        raise UsageError(f"no model on this machine is called {name}", where=where, fix=fix)
    try:
        facts = hub.open_hub().model(Reference(role="model", name=name, key="model", repo_kind="model"))
    except SourceError as error:
        what = f"{name} is not here, and the Hub could not be reached: {error.what}"
        raise UsageError(what, where=where, fix=error.fix) from None
    if facts.repo is not None and not facts.repo.exists:
        fix = f"there is {some_of(facts.repo.nearest)}" if facts.repo.nearest else "look at its name, and at the token"
        raise UsageError(f"the Hub has no model {name} that you may see", where=where, fix=fix)
    return facts
