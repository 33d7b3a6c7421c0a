"""Whose fault a failed rehearsal is: it is repeated with known-good rows, with a known-good model, and with both."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.core.job.methods import Method
from holdfast.core.rehearse.rehearsal import Failure, Part, PartResult, Rehearsal
from holdfast.core.text.json_text import parse_json
from holdfast.engine.rehearse.isolating import Instead, Replay, error_of, find_blame, may_be_isolated
from holdfast.engine.rehearse.known_rows import (
    COUNT,
    RecordedRows,
    Row,
    columns_read,
    method_rows,
    typed_rows,
    usual_rows,
)
from holdfast.payload.rehearsal.part_request import PartRequest

Play = Callable[[Sequence[PartRequest]], Sequence[tuple[Mapping[Part, PartResult], Rehearsal]]]
"""Plays the script as each order says, and judges what became of it."""
GIVEN: Final = "given"
"""Folder in which a part writes the rows that it loaded."""
TRAINER: Final = re.compile(r"\b([A-Z]\w*)(?:Trainer|Config)\b")
FORMATS: Final = "formatting_func"
"""What a trainer is given that makes its texts of rows in the script's own way."""
APART: Final = 1000
"""Between the first rows of two datasets, so that none is in both."""
KINDS: Final[tuple[Instead, ...]] = ("usual", "typed", "method")
"""Kinds of known-good rows, in the order of their replays."""
SPARED: Final[tuple[Instead, ...]] = ("usual", "method")
"""Kinds of rows that are not tried where they are the same as `typed`."""
LINES: Final = 2000
LONGEST_LINE_BYTES: Final = 1 << 20
"""Of a file of rows that is damaged, how many are looked at."""


def isolate(
    rehearsal: Rehearsal, parts: Mapping[Part, PartResult], part_request: PartRequest, play: Play, *, forced: bool
) -> Rehearsal:
    """Return a rehearsal whose failures say who is to blame.

    Args:
        rehearsal: The rehearsal as it was.
        parts: What its parts left.
        part_request: What they were requested to do; its folder holds theirs.
        play: Plays the script again.
        forced: Whether to isolate also the failures of the machine, and those of parts that did not come to an end.
    """
    suspects = [each for each in rehearsal.failures if may_be_isolated(each, machines=forced)]
    if not suspects or (_is_cut_short(parts) and not forced):
        return rehearsal
    whole = parts["whole"]
    error, replays = error_of(whole), _replays(suspects, whole, part_request, play)
    return replace(
        rehearsal,
        failures=tuple(_blamed(each, error, replays, suspects, part_request.source) for each in rehearsal.failures),
    )


def _is_cut_short(parts: Mapping[Part, PartResult]) -> bool:
    """True if a limit of time or memory ended a part."""
    return any(each.over for each in parts.values())


def _replays(suspects: Sequence[Failure], whole: PartResult, part_request: PartRequest, play: Play) -> list[Replay]:
    """Return the replays with known-good rows; unless the data is to blame for everything, also with a known-good model."""
    base = Path(part_request.folder, "isolated")
    base.mkdir()
    given = _write_rows(base, whole, part_request)
    replays = _played(play, [(name, replace(part_request, known_rows=rows)) for name, rows in given.items()], base)
    error = error_of(whole)
    if all(find_blame(each, error, replays, part_request.source)[0] == "data" for each in suspects):
        return replays
    model = str(base / "model")
    others: list[tuple[Instead, PartRequest]] = [("model", replace(part_request, known_model=model))]
    if rows := given.get("typed") or given.get("method"):
        others.append(("both", replace(part_request, known_model=model, known_rows=rows)))
    return replays + _played(play, others, base)


def _blamed(
    failure: Failure, error: str, replays: Sequence[Replay], failures: Sequence[Failure], source: str
) -> Failure:
    if failure not in failures:
        return failure
    blame, because = find_blame(failure, error, replays, source)
    return replace(failure, blame=blame, blamed=because)


def _played(play: Play, part_requests: Sequence[tuple[Instead, PartRequest]], base: Path) -> list[Replay]:
    """Play the script with each replacement, side by side."""
    results = play([replace(each, folder=str(base / f"with-{name}")) for name, each in part_requests])
    return [
        Replay(name, again.failures, error_of(parts["whole"]), bool(parts["whole"].facts("known_rows")))
        for (name, _), (parts, again) in zip(part_requests, results, strict=True)
    ]


def _write_rows(base: Path, whole: PartResult, part_request: PartRequest) -> dict[Instead, str]:
    """Write the rows that stand in for the script's own; return the file of each kind of them."""
    folder = Path(part_request.folder, "whole")
    noted = [*_noted(folder / GIVEN)]
    mapped = FORMATS in part_request.source or _is_mapped(folder, noted)
    method = _method(whole, part_request.source)
    reads = columns_read(part_request.source)
    known = [
        (each, _known_rows(each, method, reads, APART * number, mapped=mapped))
        for number, each in enumerate(noted or [RecordedRows(0, None)])
    ]
    return {
        name: _write(base / f"{name}-rows", rows, own=name != "method") for name, rows in _distinct_kinds(known).items()
    }


def _known_rows(
    noted: RecordedRows, method: str, reads: Collection[str], first: int, *, mapped: bool
) -> dict[Instead, Sequence[Row] | None]:
    """Return each kind of good rows in place of a dataset's own; None for a kind that cannot be made of it.

    Where the script makes its rows of others itself (`mapped`), good ones as the trainer takes them replace only those that
    could not be read: whether it makes the right ones is a question to its code.

    Args:
        noted: The rows that the script loaded.
        method: The method of its trainer.
        reads: The columns that it reads.
        first: The number of the first row.
        mapped: Whether it makes its rows of others itself.
    """
    taken = method_rows(noted, method, reads, first)
    typed = taken if noted.rows is None else typed_rows(noted, first)
    return {"usual": usual_rows(noted) if noted.rows else taken, "typed": typed, "method": typed if mapped else taken}


def _distinct_kinds(
    known: Sequence[tuple[RecordedRows, Mapping[Instead, Sequence[Row] | None]]],
) -> dict[Instead, list[tuple[RecordedRows, Sequence[Row]]]]:
    """Return the kinds of rows that there are for every dataset, without those that differ in nothing."""
    complete: dict[Instead, list[tuple[RecordedRows, Sequence[Row]]]] = {}
    for name in KINDS:
        rows = [(each, given) for each, kinds in known if (given := kinds[name])]
        if len(rows) == len(known):
            complete[name] = rows
    for name in SPARED:
        if complete.get(name) == complete.get("typed"):
            complete.pop(name, None)
    return complete


def _write(folder: Path, datasets: Sequence[tuple[RecordedRows, Sequence[Row]]], *, own: bool) -> str:
    """Write the rows of each dataset, and those of the first for whatever else is requested; return that file."""
    folder.mkdir(parents=True)
    rows = folder / "rows.jsonl"
    rows.write_text(_lines(datasets[0][1]), encoding="utf-8")
    for noted, given in datasets:
        (folder / f"rows-{noted.line}.jsonl").write_text(_lines(given), encoding="utf-8")
        if own and noted.features:
            types = folder / f"rows-{noted.line}.features.json"
            types.write_text(json.dumps(noted.features), encoding="utf-8")
    return str(rows)


def _lines(rows: Sequence[Row]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _noted(folder: Path) -> Iterator[RecordedRows]:
    """Yield the rows that the script loaded, in the order of its lines."""
    for path in sorted(folder.glob("*.json"), key=lambda each: int(each.stem)):
        note = parse_json(path.read_text(encoding="utf-8"))
        yield RecordedRows(int(path.stem), note["rows"] or _whole_lines(note["asked"]), note["features"])


def _whole_lines(requested: Mapping[str, Any]) -> list[Row] | None:
    """Return the rows of a file of JSON Lines that is damaged, as far as they can be read."""
    named = requested.get("data_files")
    path = Path(named) if isinstance(named, str) else None
    if path is None or not path.is_file() or path.suffix not in (".jsonl", ".json"):
        return None
    rows: list[Row] = []
    with open_foreign(path) as file:
        for line in islice(iter(lambda: file.readline(LONGEST_LINE_BYTES), b""), LINES):
            with suppress(ValueError):
                row = parse_json(line)
                rows += [row] if isinstance(row, dict) else []
    return rows[:COUNT] or None


def _is_mapped(folder: Path, noted: Sequence[RecordedRows]) -> bool:
    """True if the script gives its trainer other columns than it got, or none was made before it failed."""
    kept = folder / "rows" / "train.jsonl"
    columns = [each.columns for each in noted if each.rows]
    if not columns:
        return False
    if not kept.is_file():
        return True
    with kept.open(encoding="utf-8") as file:
        line = file.readline()
    return not any(set(parse_json(line)) <= each for each in columns) if line.strip() else True


def _method(whole: PartResult, source: str) -> str:
    """Return the method of the script's trainer; where none was made, of the one that it names."""
    kinds = [*whole.first("training").get("trainer", ()), *(f"{each}Trainer" for each in TRAINER.findall(source))]
    names = {f"{method.config.removeprefix('trl.').removesuffix('Config')}Trainer": method.value for method in Method}
    return next((names[kind] for kind in kinds if kind in names), "sft")
