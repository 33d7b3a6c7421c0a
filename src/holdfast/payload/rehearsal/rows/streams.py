"""Streams: what a script passes over or collects before the first row is made short."""

from collections.abc import Callable
from typing import Any

from ..events import EventWriter
from ..wrapping import wrap

BUFFER = 256  # rows


def install_streams(module: Any, events: EventWriter) -> None:
    """Have streams collect and pass over few rows before they give the first."""

    def shuffle(
        original: Callable[..., Any],
        stream: Any,
        seed: Any = None,
        generator: Any = None,
        buffer_size: Any = 1000,
        **kwargs: Any,
    ) -> Any:
        return original(stream, seed, generator, shorter("shuffle's buffer_size", buffer_size, ""), **kwargs)

    def skip(original: Callable[..., Any], stream: Any, n: int) -> Any:
        return original(stream, shorter("rows that skip passes over", n, "rows"))

    def shorter(what: str, rows: Any, unit: str) -> Any:
        if not isinstance(rows, int) or rows <= BUFFER:
            return rows
        events.shrunk(what, rows, BUFFER, unit=unit)
        return BUFFER

    wrap(module.IterableDataset, "shuffle", shuffle)
    wrap(module.IterableDataset, "skip", skip)
