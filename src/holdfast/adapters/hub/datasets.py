"""Datasets of the Hub: their configurations and splits, the columns of the one that is requested, without reading a row.

Covered: cards with `configs` and `dataset_info`, splits by the names of the files, the dataset viewer for what those leave open.
Not covered: columns of a dataset of which neither card nor viewer tells; columns of files that are named one by one.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from holdfast.adapters.hub.cards import DEFAULT, Card, Config, parse_card
from holdfast.adapters.hub.repos import MAIN, fetch_info, fetch_repo
from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.hub.viewer import complete, fetch_viewed
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError


def fetch_dataset(asking: HubSession, reference: Reference) -> Dataset:
    """Return the known facts about a dataset; if it does not exist, or not for this token, only that.

    Raises:
        SourceError: The Hub does not say.
    """
    name, revision = reference.name, reference.revision
    newest = revision in (None, MAIN)
    viewing = asking.begin(partial(fetch_viewed, asking, name)) if newest else None
    repo = fetch_repo(asking, "dataset", name, revision)
    if not repo.exists or repo.commit is None:
        return Dataset(repo=repo, default_config=None)
    info = fetch_info(asking, "dataset", name, revision) or {}
    card = parse_card(info.get("cardData"), repo.files)
    if viewing is None:
        return _dataset(reference, repo, card)
    # The viewer knows nothing of former names.
    view = viewing if repo.name == name else partial(fetch_viewed, asking, repo.name)
    return _dataset(reference, repo, complete(card, _viewer_answer(view)))


def _viewer_answer(view: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the viewer's answer; if it does not answer, the other facts still count."""
    try:
        return view()
    except SourceError:
        return {}


def _dataset(reference: Reference, repo: Repo, card: Card) -> Dataset:
    """Return the facts of a dataset. Where files are named one by one, configurations say nothing of them."""
    scripted = f"{repo.name.rpartition('/')[2]}.py" in repo.files
    if reference.files:
        return Dataset(repo=repo, scripted=scripted)
    config = card.configs.get(reference.config or card.default or "", Config())
    return Dataset(
        columns=tuple(config.types),
        rows=config.splits.get(reference.split or "", Split()).rows,  # a slice is none of them
        types=config.types,
        configs={name: each.splits for name, each in card.configs.items() if each.splits or name != DEFAULT},
        default_config=card.default,
        scripted=scripted,
        repo=repo,
    )
