"""What `datasets` makes of files, asked in one process of its own for many of them, and what holdfast makes of them."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.adapters.rows.opening import FileRows
from holdfast.adapters.rows.types import types_of_features
from holdfast.core.rows.columns import ListOf, Scalar, Struct, Type
from holdfast.core.rows.scan import UnreadablePart

PROGRAM = """
import json, logging, sys, tempfile
import datasets
datasets.disable_progress_bars()
logging.disable(logging.CRITICAL)

def told_of(case):
    kind, files, options, split = case
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as cache:
        given = {"data_files": files} if kind else {"path": files}
        found = datasets.load_dataset(kind or given.pop("path"), **given, split=split, cache_dir=cache, **options)
        rows = json.loads(json.dumps(found[:], default=str)) if len(found) else {}
        return {"features": found.features.to_dict(), "rows": rows}

for line in sys.stdin:
    name, case = json.loads(line)
    try:
        told = told_of(case)
    except BaseException as error:
        told = {"error": str(error.__cause__ or error) or type(error).__name__}
    print(json.dumps([name, told]), flush=True)
"""


@dataclass(frozen=True)
class Table:
    """Columns, rows by column, and what is wrong."""

    columns: dict[str, Type] = field(default_factory=dict)
    rows: dict[str, list[Any]] = field(default_factory=dict)
    error: str = ""
    broken: tuple[UnreadablePart, ...] = ()


def ask_datasets(folder: Path, cases: Mapping[str, Sequence[Any]]) -> dict[str, Table]:
    """Return what `load_dataset` makes of each case: kind of file or None, files or folder, options, split."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder)],
        input="".join(json.dumps([name, case]) + "\n" for name, case in cases.items()),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    told = dict(json.loads(line) for line in done.stdout.splitlines())
    return {name: _table(answer) for name, answer in told.items()}


def _table(answer: dict[str, Any]) -> Table:
    if "error" in answer:
        return Table(error=answer["error"])
    columns = types_of_features(answer["features"])
    return Table(columns, {name: answer["rows"].get(name, []) for name in columns})


def read(rows: FileRows) -> Table:
    """Return what holdfast reads, with rows as Python has them."""
    told: dict[str, list[Any]] = {name: [] for name in rows.columns}
    number = 0
    for batch in rows.batches():
        assert batch.start >= number
        number = batch.start + batch.frame.height
        assert batch.frame.columns == list(rows.columns)
        for name, kind in rows.columns.items():
            told[name] += [
                _decoded(value, kind) for value in json.loads(json.dumps(batch.frame[name].to_list(), default=str))
            ]
    return Table(dict(rows.columns), told, broken=tuple(rows.broken))


def _decoded(value: Any, kind: Type) -> Any:
    match kind:
        case ListOf(of) if value is not None:
            return [_decoded(each, of) for each in value]
        case Struct(fields) if value is not None:
            return {name: _decoded(value[name], part) for name, part in fields.items()}
        case Scalar("json") if value is not None:
            try:
                return json.loads(value)
            except ValueError:
                return value
        case _:
            return value


def without_times(table: Table) -> Table:
    """Return a table whose points in time are only there or not; each side spells them in its way."""
    return Table(
        table.columns,
        {name: [_timeless(row, table.columns[name]) for row in rows] for name, rows in table.rows.items()},
    )


def _timeless(value: Any, kind: Type) -> Any:
    match kind:
        case ListOf(of) if value is not None:
            return [_timeless(each, of) for each in value]
        case Struct(fields) if value is not None:
            return {name: _timeless(value[name], part) for name, part in fields.items()}
        case Scalar("time") if value is not None:
            return "time"
        case _:
            return value
