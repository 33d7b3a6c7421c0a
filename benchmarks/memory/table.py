"""The table of what was measured: a CSV file, a row a point, written whole and renamed, so that a killed run loses nothing."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from benchmarks.memory.models import load_models
from benchmarks.memory.phases import PHASES
from benchmarks.memory.points import STEPS, Point

Row = Mapping[str, str]

SETTINGS: Final = tuple(field.name for field in fields(Point))
PACKAGES: Final = ("torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "triton")
COLUMNS: Final = (
    *SETTINGS,
    "family",
    "holdout",  # True: nothing may be fitted to this row
    "outcome",  # ok; oom: memory ran out; failed: anything else, and it is measured anew; dry: nothing was measured
    "error",  # its class and first line
    "phase",  # where the run was when it ended, or `done`
    "parameters",
    "trainable",
    "tokens",  # that the policy saw in an optimizer step, padding included
    "loaded_bytes",  # allocated when training begins
    "between_steps_bytes",  # allocated after the last step
    "peak_allocated_bytes",  # torch.cuda.max_memory_allocated over all phases
    "peak_reserved_bytes",  # torch.cuda.max_memory_reserved, likewise
    *(f"{phase}_{kind}_bytes" for phase in PHASES for kind in ("allocated", "reserved")),
    "card_bytes",  # total of torch.cuda.mem_get_info
    "idle_bytes",  # used of the card before the process touched it, as nvidia-smi says
    "context_bytes",  # used of the card beyond what torch reserved, by mem_get_info: after the first allocation
    "other_bytes",  # the same at the end: context, kernels' code, cuBLAS and all else that torch does not allocate
    "retries",  # num_alloc_retries: the allocator gave back what it kept, and asked again
    *(f"step_{step}_s" for step in range(1, STEPS + 1)),  # device synchronized before and after
    "alone",  # True: no other process used the card meanwhile, so the times hold
    "gpu",
    "driver",
    "cuda",
    *PACKAGES,  # bitsandbytes: empty where the run does without, for then it is not imported
    "date",
)
FINAL: Final = frozenset({"ok", "oom"})


def parse_table(text: str) -> list[Row]:
    """Return the rows of a table; a column that it lacks is empty."""
    return [{name: row.get(name) or "" for name in COLUMNS} for row in csv.DictReader(io.StringIO(text))]


def render_table(rows: Iterable[Row]) -> str:
    """Return the text of a table."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def load_table(path: Path) -> list[Row]:
    """Return the rows of a file, none where there is no file."""
    return parse_table(path.read_text(encoding="utf-8")) if path.exists() else []


def save_table(rows: Iterable[Row], path: Path) -> None:
    """Write a table and give it its name when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".partial")
    draft.write_text(render_table(rows), encoding="utf-8")
    draft.replace(path)


def row_key(row: Row) -> tuple[str, ...]:
    """Return what makes two rows the same point."""
    return Point.of(row).key


def merge_rows(*tables: Iterable[Row]) -> list[Row]:
    """Return one row a point, in the order of their first appearance.

    A row that is final takes the place of one that is not; among equals the first stays, so that a point that was
    measured twice keeps the figures that were published.
    """
    kept: dict[tuple[str, ...], Row] = {}
    for row in (row for table in tables for row in table):
        before = kept.get(row_key(row))
        if before is None or (before["outcome"] not in FINAL and row["outcome"] in FINAL):
            kept[row_key(row)] = row
    return list(kept.values())


def pending(points: Sequence[Point], rows: Iterable[Row]) -> list[Point]:
    """Return the points that have no final row yet, in their order."""
    done = {row_key(row) for row in rows if row["outcome"] in FINAL}
    return [point for point in points if point.key not in done]


def settings_cells(point: Point) -> dict[str, str]:
    """Return the cells that say what was asked."""
    model = load_models()[point.model]
    told = {"family": model.family, "holdout": str(model.holdout), "parameters": str(model.parameters)}
    return dict(zip(SETTINGS, point.key, strict=True)) | told
