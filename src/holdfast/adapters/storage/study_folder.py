"""The folder of a study, beside its runs: its file as it was run, its table, its report, and a lock."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.storage.locks import holding, is_held, waiting_for
from holdfast.adapters.storage.private_files import make_private
from holdfast.adapters.storage.run_folder import write_redacted
from holdfast.core.errors import HoldfastError, LedgerError, UsageError
from holdfast.core.text.json_text import parse_json

STUDIES: Final = "studies"
TABLE: Final = "results.csv"
RESULT: Final = "results.json"
REPORT: Final = "report.html"
COPY: Final = "study.yaml"
PROPOSED: Final = "search.json"
LOCK: Final = "study.lock"
CLAIMS: Final = ".claims"
"""Folder, beside those of the studies, of the locks under which trials are started."""
CLAIM_DIGITS: Final = 2
"""Digits of a trial's content that name its lock: a folder has at most 256 of them, however many trials there are."""


def study_folder(runs: Path, name: str) -> Path:
    """Return the folder of a study in a runs folder."""
    return runs / STUDIES / name


def make_study_folder(folder: Path) -> None:
    """Make the folder of a study.

    Raises:
        UsageError: A part of its path is a file.
        LedgerError: It cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_private(folder)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(
            f"{folder} is a file, or lies under one", where="the runs folder", fix="choose another with --runs"
        ) from None
    except OSError as error:
        what = f"the study's folder cannot be written: {error.strerror}"
        raise LedgerError(what, where=str(folder), fix="choose another with --runs, or free disk space") from error


def running_study(folder: Path) -> AbstractContextManager[bool]:
    """Hold the right to run a study within a block; gives False if another process holds it."""
    return holding(folder / LOCK)


def is_running_study(folder: Path) -> bool:
    """Whether a process holds the right to run a study."""
    return is_held(folder / LOCK)


@contextmanager
def starting_trial(runs: Path, content: str) -> Iterator[None]:
    """Hold the right to start a trial within a block, after any other study that is starting it now.

    Args:
        runs: The runs folder.
        content: The hash of the trial's content.

    Raises:
        LedgerError: The lock cannot be written.
    """
    folder = runs / STUDIES / CLAIMS
    make_study_folder(folder)
    with waiting_for(folder / f"{content[:CLAIM_DIGITS]}.lock"):
        yield


def read_proposals(folder: Path) -> list[dict[str, Any]]:
    """Return the settings that the search of a study has proposed so far, in their order; none if there is no such file.

    Raises:
        UsageError: The file is damaged.
    """
    path = folder / PROPOSED
    if not path.exists():
        return []
    try:
        proposed = parse_json(read_foreign_text(path))
        json.dumps(proposed, ensure_ascii=False).encode()  # half of a character cannot be written again
    except (HoldfastError, OSError, ValueError):
        proposed = None
    if isinstance(proposed, list) and all(isinstance(each, dict) for each in proposed):
        return proposed
    fix = "delete it: trials that ran are still known, and the search goes on from their results"
    raise UsageError("what the search has proposed cannot be read", where=str(path), fix=fix)


def write_proposals(folder: Path, proposed: Sequence[Mapping[str, Any]]) -> None:
    """Write the settings that the search of a study has proposed so far.

    Raises:
        LedgerError: They cannot be written.
    """
    write_study_file(folder, PROPOSED, json.dumps([dict(each) for each in proposed], indent=1))


def render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; a cell that a spreadsheet would take for a formula is text."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def write_study_file(folder: Path, name: str, text: str) -> None:
    """Write a file of the study.

    Raises:
        LedgerError: It cannot be written.
    """
    write_redacted(folder / name, text)
