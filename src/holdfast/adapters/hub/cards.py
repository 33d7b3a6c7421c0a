"""What a dataset's card says: its configurations, their splits, and the columns of each.

Source: `MetadataConfigs`, `sanitize_patterns` and `HubDatasetModuleFactory` of datasets 5.2. The names of configurations come from `configs`
alone; what `dataset_info` tells of one of another name is heeded by nobody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.adapters.hub.repos import entries_at, text_at
from holdfast.adapters.rows.splits import default_config, endings_of, files_of_config
from holdfast.adapters.rows.types import types_of_card, types_of_features
from holdfast.core.check.facts import Split
from holdfast.core.rows.columns import Type

Json = Mapping[str, Any]
Sizes = Mapping[str, int | None]
DEFAULT: Final = "default"
"""What a dataset's only configuration is called where nobody names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What is known of one configuration.

    Attributes:
        splits: By name; empty if it is not known.
        types: Type of each column; empty if it is not known.
    """

    splits: Mapping[str, Split] = field(default_factory=dict[str, Split])
    types: Mapping[str, Type] = field(default_factory=dict[str, Type])


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is known of all of them.

    Attributes:
        configs: By name.
        default: The one that is taken where none is named; None if one has to be.
    """

    configs: Mapping[str, Config]
    default: str | None


def parse_card(card: Any, files: Sizes) -> Card:
    """Return the facts in a card and in the names of a repository's files.

    Args:
        card: `cardData`, as the Hub gives it.
        files: Sizes in bytes by path.
    """
    infos = {text_at(each, "config_name") or DEFAULT: each for each in _infos(card)}
    named = [each for each in entries_at(card, "configs") if text_at(each, "config_name")]
    if not named:
        about = infos.get(DEFAULT) or (next(iter(infos.values())) if len(infos) == 1 else {})
        return Card(configs={DEFAULT: _config({}, about, files)}, default=DEFAULT)
    configs = {
        name: _config(each, infos.get(name, {}), files) for each in named if (name := text_at(each, "config_name"))
    }
    return Card(configs=configs, default=default_config(named))


def _infos(card: Any) -> list[Json]:
    info = card.get("dataset_info") if isinstance(card, Mapping) else None
    return [info] if isinstance(info, Mapping) else entries_at(card, "dataset_info")


def _config(config: Json, about: Json, files: Sizes) -> Config:
    """Return a configuration, of which the files say what splits there are, and its description how many rows each has."""
    listed = {text_at(each, "name"): each for each in entries_at(about, "splits")}
    found = files_of_config(config, sorted(files))
    splits = {split: data for split, names in found.items() if (data := [name for name in names if endings_of(name)])}
    return Config(
        splits={name: _split(listed.get(name, {}), splits.get(name, ()), files) for name in splits or listed},
        types=parse_types(about.get("features")),
    )


def _split(listed: Json, paths: Iterable[str], files: Sizes) -> Split:
    rows, sizes = listed.get("num_examples"), [files.get(path) for path in paths]
    known = [size for size in sizes if size is not None]
    return Split(
        rows=rows if isinstance(rows, int) else None, bytes=sum(known) if known and len(known) == len(sizes) else None
    )


def parse_types(features: Any) -> Mapping[str, Type]:
    """Return the type of each column that features tell of, as a card lists them or as the viewer has them in JSON; else none."""
    try:
        return types_of_features(features) if isinstance(features, Mapping) else types_of_card(features)
    except (AttributeError, RecursionError, TypeError, ValueError):  # people write cards by hand
        return {}
