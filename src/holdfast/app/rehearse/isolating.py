"""Whose fault a failed rehearsal is: it is repeated with known-good rows, with a known-good model, and with both."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.core.json_text import parse_json
from holdfast.core.methods import Method
from holdfast.core.rehearsal import Failure, Part, PartResult, Rehearsal
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
"""Folder in which a part notes what it got as it asked for rows."""
TRAINER: Final = re.compile(r"\b([A-Z]\w*)(?:Trainer|Config)\b")
FORMATS: Final = "formatting_func"
"""What a trainer is given that makes its texts of rows in the script's own way."""
APART: Final = 1000
"""Between the first rows of two datasets, so that none is in both."""
SPARED: Final[tuple[Instead, ...]] = ("usual", "method")
"""Kinds of rows that are not tried where they are those of the script's own columns and types."""
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
        part_request: What they were asked; its folder holds theirs.
        play: Plays the script again.
        forced: Whether failures of the machine's are asked about too, and those of parts that did not come to an end.
    """
    suspects = [each for each in rehearsal.failures if may_be_isolated(each, machines=forced)]
    if not suspects or (any(each.over for each in parts.values()) and not forced):
        return rehearsal
    whole, base = parts["whole"], Path(part_request.folder, "isolated")
    base.mkdir()
    noted = [*_noted(Path(part_request.folder, "whole", GIVEN))]
    mapped = FORMATS in part_request.source or _is_mapped(Path(part_request.folder, "whole"), noted)
    given = _write_rows(base, noted, whole, part_request, mapped=mapped)
    model, error = str(base / "model"), error_of(whole)
    replays = _played(play, [(name, replace(part_request, known_rows=rows)) for name, rows in given.items()], base)
    if any(find_blame(each, error, replays, part_request.source)[0] != "data" for each in suspects):
        others: list[tuple[Instead, PartRequest]] = [("model", replace(part_request, known_model=model))]
        if rows := given.get("typed") or given.get("method"):
            others.append(("both", replace(part_request, known_model=model, known_rows=rows)))
        replays += _played(play, others, base)
    return replace(
        rehearsal,
        failures=tuple(_blamed(each, error, replays, suspects, part_request.source) for each in rehearsal.failures),
    )


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


def _write_rows(
    base: Path, noted: Sequence[RecordedRows], whole: PartResult, part_request: PartRequest, *, mapped: bool
) -> dict[Instead, str]:
    """Write the rows that stand in for the script's own; return the file of each kind of them.

    Where the script makes its rows of others itself (`mapped`), good ones as the trainer takes them stand in for those alone
    that could not be read: whether it makes the right ones is a question to its code.
    """
    reads, method = columns_read(part_request.source), _method(whole, part_request.source)
    found: dict[Instead, list[tuple[RecordedRows, Sequence[Row] | None]]] = {"usual": [], "typed": [], "method": []}
    for number, each in enumerate(noted or [RecordedRows(0, None)]):
        taken, typed = method_rows(each, method, reads, APART * number), typed_rows(each, APART * number)
        if each.rows is None:
            typed = taken
        found["usual"].append((each, usual_rows(each) if each.rows else taken))
        found["typed"].append((each, typed))
        found["method"].append((each, typed if mapped else taken))
    complete: dict[Instead, list[tuple[RecordedRows, Sequence[Row]]]] = {}
    for name, several in found.items():
        if len(rows := [(each, given) for each, given in several if given]) == len(several):
            complete[name] = rows
    for name in SPARED:
        if complete.get(name) == complete.get("typed"):
            complete.pop(name, None)
    return {name: _write(base / f"{name}-rows", rows, own=name != "method") for name, rows in complete.items()}


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
