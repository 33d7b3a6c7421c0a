"""What the script gave its trainer, kept for the rules of `check`: rows as they were before a few were chosen."""

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest

FILES = {"train_dataset": "train.jsonl", "eval_dataset": "test.jsonl"}
"""Names that `datasets` takes for the splits `train` and `test` of a folder."""
NUMBERS = "row_numbers.json"
"""A file with the number that each row to train on has in the data."""
STREAMED = "the data is a stream, which is not read beforehand; `holdfast inspect` reads a file or a dataset of the Hub"
MOST, MOST_BYTES = 5000, 64 << 20
"""Rows that are kept, and their bytes."""


def note_same(given: Mapping[str, Any], events: EventWriter) -> None:
    """Report where a trainer is given the very rows to evaluate on that it trains on."""
    evaluated = given.get("eval_dataset")
    if evaluated is not None and evaluated is given.get("train_dataset"):
        events.fact("same_rows")


def keep_rows(dataset: Any, part_request: PartRequest, role: str, events: EventWriter) -> None:
    """Write the rows of a dataset down, as far as JSON holds them; nothing of what is not a table of rows."""
    if part_request.part != "whole" or not hasattr(dataset, "column_names"):
        return
    if not hasattr(dataset, "__len__"):
        events.not_rehearsed("the rules about rows", STREAMED)
        return
    folder = Path(part_request.folder, "rows")
    folder.mkdir(exist_ok=True)
    lines, size = [], 0
    try:
        for row in islice(iter(dataset), MOST):
            lines.append(json.dumps(dict(row)))
            size += len(lines[-1])
            if size > MOST_BYTES:
                break
    except (TypeError, ValueError):
        return  # pictures, and what else JSON does not hold
    if lines:
        (folder / FILES[role]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if role == "train_dataset":
        _keep_numbers(dataset, len(lines), Path(part_request.folder, NUMBERS))


def _keep_numbers(dataset: Any, rows: int, path: Path) -> None:
    """Write down which rows of the data a dataset has that shuffles or divides it; one without indices has them all, in order."""
    indices = getattr(dataset, "_indices", None)
    if indices is not None:
        path.write_text(json.dumps(indices.column(0)[:rows].to_pylist()), encoding="utf-8")
