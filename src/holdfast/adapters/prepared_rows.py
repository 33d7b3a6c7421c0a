"""Preparing the rows of a job in a process of its own: the script that writes them, and what is kept of them.

Covered: a script that fails; one that is interrupted: its folder is removed, and what was there before stays; files of the user's beside
the rows: the folder is not replaced; a rename that fails. Not covered: streams.
"""

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

from msgspec import DecodeError, Struct, ValidationError, json

from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.foreign_files import open_foreign, read_both_ends, read_foreign, real_path
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.errors import UsageError
from holdfast.core.exit_codes import KILLED

RECORD: Final = "rows.json"
"""The file in a folder of prepared rows that says how they came to be."""
CARD: Final = "README.md"
MARK: Final = "HOLDFAST_ROWS"
"""Variable by which processes are known that the script started, wherever they went."""
UNFIT: Final = 65
"""Exit code of a script whose rows the file format cannot hold."""
MOST_NAMES: Final = 5
"""Files that are named in an error."""
LOG_BYTES: Final = 100_000
"""How much is read of what the process wrote: its ends."""
SHOWN: Final = 400
"""Characters of what the process last wrote that are shown."""


class WrittenFile(Struct, frozen=True):
    """A file of prepared rows, as the script wrote it."""

    file: str
    rows: int
    bytes: int
    sha256: str


class RowsRecord(Struct, frozen=True):
    """How prepared rows came to be: what `engine/templates/rows_body.jinja` writes."""

    made_by: str
    key: str
    sources: Sequence[Mapping[str, Any]]
    map: Mapping[str, str] | None
    chosen: Mapping[str, Any]
    files: Mapping[str, WrittenFile]
    datasets: str


def read_record(folder: Path) -> RowsRecord | None:
    """Return how the rows in a folder came to be; None if holdfast did not prepare them."""
    try:
        record = json.decode(read_foreign(folder / RECORD), type=RowsRecord)
    except (OSError, DecodeError, ValidationError):
        return None
    return record if record.made_by == "holdfast" else None


def changed_files(folder: Path, record: RowsRecord) -> list[str]:
    """Return the files that are not as they were written, or are gone."""
    return [each.file for each in record.files.values() if _digest(folder / Path(each.file).name) != each.sha256]


def _digest(path: Path) -> str:
    try:
        with open_foreign(path) as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def write_rows(
    words: Sequence[str], script: str, folder: Path, options: Sequence[str], variables: Mapping[str, str]
) -> None:
    """Have a script write rows into a folder, which appears when it is complete.

    Args:
        words: The words that run it.
        script: Its text.
        folder: The folder; prepared rows in it are replaced.
        options: Its own options.
        variables: Environment variables.

    Raises:
        UsageError: It fails, or the folder holds something else, or cannot be written.
    """
    folder = real_path(folder)  # a link to it stays
    _require_own(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(f".{folder.name}-", folder.parent) as draft:
            _run(words, script, Path(draft), options, variables)
            _require_own(folder)  # the script may have taken hours
            _replace(folder, Path(draft, "rows"))
    except OSError as error:
        what = f"{folder} cannot be written: {error.strerror or error}"
        raise UsageError(what, where="--save", fix="name a folder that you may write to") from error


def _require_own(folder: Path) -> None:
    """Check that holdfast wrote all that a folder holds.

    Raises:
        UsageError: There is something else in it.
    """
    if not folder.exists():
        return
    present, record = _names_in(folder), read_record(folder)
    if present and record is None:
        what = f"{folder} exists already, and does not hold rows that holdfast prepared"
        raise UsageError(what, where="--save", fix="name another folder")
    written = _written_names(record) if record else set()
    if others := sorted(_others(folder, present, written)):
        what = f"{folder} cannot be replaced: it has {', '.join(others[:MOST_NAMES])}, which holdfast did not write"
        raise UsageError(what, where="--save", fix="move it out of the folder, or name another folder")


def _names_in(folder: Path) -> set[str]:
    """Return the names in a folder; of a file, an empty one."""
    return {each.name for each in folder.iterdir()} if folder.is_dir() else {""}


def _others(folder: Path, present: Iterable[str], written: Container[str]) -> Iterator[str]:
    """Yield the names of what holdfast did not write; folders are none of its."""
    yield from (name for name in present if name not in written or not (folder / name).is_file())


def _written_names(record: RowsRecord) -> set[str]:
    return {RECORD, CARD, *(Path(each.file).name for each in record.files.values())}


def _replace(folder: Path, new: Path) -> None:
    """Put a new folder in the place of one that may be there; after an error, the old one is there still.

    Raises:
        OSError: It cannot be done.
    """
    old = folder.with_name(f"{folder.name}.{time.time_ns()}")
    if not folder.exists():
        new.rename(folder)
        return
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    rmtree(old)


def _run(words: Sequence[str], script: str, draft: Path, options: Sequence[str], variables: Mapping[str, str]) -> None:
    path, log = draft / "prepare_rows.py", draft / "log"
    path.write_text(script, encoding="utf-8")
    with (
        log.open("wb") as errors,
        marked_child(
            [*words, str(path), "--to", str(draft / "rows"), *options], MARK, variables=variables, stderr=errors
        ) as child,
    ):
        code = child.wait()
    if code:
        raise _failure(code, log)


def _failure(code: int, log: Path) -> UsageError:
    """Return the error for a script that failed, with the last line that it wrote."""
    if code in KILLED:
        what = "the rows cannot be prepared: the script was killed, most likely by the system for want of memory"
        return UsageError(what, where="dataset", fix="use fewer rows (`dataset.rows`), or a machine with more memory")
    text = ""
    with suppress(OSError):
        text = read_both_ends(log, LOG_BYTES).strip()[-SHOWN:]
    last = next(reversed(text.splitlines()), f"the script ended with exit code {code}")
    what = f"the rows cannot be prepared: {last}"
    if code == UNFIT:
        return UsageError(what, where="--jsonl", fix="leave out `--jsonl`: the rows are then kept as Parquet")
    fix = "correct the data, or the function that rewrites it"
    if last.startswith("ModuleNotFoundError:"):
        fix = "install the module, or start holdfast in the folder that has it, as for the training"
    return UsageError(what, where="dataset", fix=fix)
