"""What the dataset viewer says of a dataset: columns and numbers of rows, of the newest commit alone.

Source: the endpoints `/info` and `/size` as datasets 5.2 reads them (`utils/_dataset_viewer.py`). They take nothing but the newest commit.
Not covered: datasets that the viewer has not looked at yet, or may not; nothing is known of those.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from holdfast.adapters.hub.cards import Card, Config, parse_types
from holdfast.adapters.hub.repos import entries_at, text_at
from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.hub.wire import HubRequest
from holdfast.core.check.facts import Split
from holdfast.core.errors import SourceError

Json = Mapping[str, Any]


def fetch_viewed(asking: HubSession, name: str) -> Json:
    """Return the viewer's answer for each configuration by name; empty if it gives none.

    Raises:
        SourceError: It does not answer.
    """
    if not asking.settings.viewer:
        return {}
    return asking.once(("viewer", name), partial(_fetch_viewed, asking, name))


def _fetch_viewed(asking: HubSession, name: str) -> Json:
    info, size = asking.together(*(partial(_fetch, asking, path, name) for path in ("info", "size")))
    datasets = info.get("dataset_info") if isinstance(info, Mapping) else None
    sizes = {} if isinstance(size, SourceError) else size.get("size")
    return {"info": datasets if isinstance(datasets, Mapping) else {}, "splits": entries_at(sizes, "splits")}


def _fetch(asking: HubSession, path: str, name: str) -> Json:
    reply = asking.ask(HubRequest(url=f"{asking.settings.viewer}/{path}", params={"dataset": name}))
    return reply.mapping() if reply.ok else {}


def complete(card: Card, viewed: Json) -> Card:
    """Return a card with what the viewer knows and the card does not say.

    Args:
        card: What the card says.
        viewed: What the viewer says.
    """
    return Card(
        configs={name: _completed(name, config, viewed) for name, config in card.configs.items()}, default=card.default
    )


def _completed(name: str, config: Config, viewed: Json) -> Config:
    info = viewed.get("info", {}).get(name)
    about: Json = info if isinstance(info, Mapping) else {}
    rows = {
        text_at(each, "split"): each.get("num_rows")
        for each in viewed.get("splits", ())
        if text_at(each, "config") == name
    }
    names = config.splits or _splits_of(about) or dict.fromkeys(rows, Split())
    return Config(
        splits={split: _counted(known, rows.get(split)) for split, known in names.items()},
        types=config.types or parse_types(about.get("features")),
    )


def _splits_of(about: Json) -> dict[str, Split]:
    splits = about.get("splits")
    return dict.fromkeys(map(str, splits), Split()) if isinstance(splits, Mapping) else {}


def _counted(known: Split, rows: Any) -> Split:
    counted = rows if known.rows is None and isinstance(rows, int) else known.rows
    return Split(rows=counted, bytes=known.bytes)
