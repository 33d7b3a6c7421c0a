"""Run folders, which contain everything about one run. `docs/contract.md` shows the layout."""

import json
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from errno import EEXIST, ENOTEMPTY
from os import SEEK_END
from pathlib import Path
from string import ascii_lowercase, digits

from msgspec import convert

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.secrets import redacted
from holdfast.adapters.storage.locks import holding, is_held
from holdfast.adapters.storage.private_files import write_private
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.errors import LedgerError, UsageError
from holdfast.core.run.plan import Plan, RunRequest
from holdfast.core.text.json_text import parse_json

DRAWS = 100
SUPERVISOR = "supervisor.lock"
MOST_NEWS = 1 << 20
"""Most bytes of output that are shown at a time."""


def make_run_folder(runs: Path, name: str, started: str, fill: Callable[[Path, Path], object]) -> Path:
    """Make a new folder for a run and return it. It appears with its first files in it, however early this process is killed.

    Args:
        runs: The runs folder.
        name: The job's name.
        started: The run's start, `YYYYmmdd-HHMMSS`.
        fill: Writes the first files into a draft of the folder, its first argument; the second is the folder that the draft becomes.

    Raises:
        UsageError: The runs folder cannot be written.
    """
    try:
        runs.mkdir(parents=True, exist_ok=True)
        for _ in range(DRAWS):
            draw = "".join(random.SystemRandom().choices(ascii_lowercase + digits, k=2))
            folder = (runs / f"{name}-{started}-{draw}").resolve()
            if not folder.exists() and _make_whole(folder, fill):
                return folder
    except FileExistsError:
        raise UsageError(f"{runs} is a file", where="the runs folder", fix="choose another with --runs") from None
    except OSError as error:
        what = f"the runs folder cannot be written: {error.strerror}"
        raise UsageError(what, where=str(runs), fix="choose another with --runs, or free disk space") from error
    raise LedgerError("no free name for the run", where=str(runs), fix="try again in a second")


def _make_whole(folder: Path, fill: Callable[[Path, Path], object]) -> bool:
    """Make a folder with its first files; False if another process was sooner."""
    with scratch_folder(".run-", folder.parent) as scratch:
        draft = Path(scratch) / "run"
        draft.mkdir(mode=0o700)  # a run holds data, settings and logs of one person
        fill(draft, folder)
        try:
            draft.rename(folder)
        except OSError as error:
            if error.errno not in (EEXIST, ENOTEMPTY):
                raise
            return False
    return True


def write_redacted(path: Path, text: str) -> None:
    """Write a file for people, without secrets.

    Raises:
        LedgerError: It could not be written.
    """
    write_whole(path, redacted(text))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that readers see either the whole new text or the old one. Only its owner may read it.

    Raises:
        LedgerError: It could not be written.
    """
    try:
        write_private(path, text)
    except OSError as error:
        what = f"{path.name} cannot be written: {error.strerror}"
        raise LedgerError(what, where=str(path.parent), fix="free some disk space, or check permissions") from error


def save_plan(folder: Path, plan: Plan) -> None:
    """Write the plan, so that a resumed run starts from the same one; it holds references to secrets."""
    write_whole(folder / "plan.json", json.dumps(asdict(plan), indent=1))


def load_plan(folder: Path) -> Plan:
    """Return the plan of a run.

    Raises:
        LedgerError: It is missing or incomplete.
    """
    path = folder / "plan.json"
    try:
        return convert(parse_json(read_foreign_text(path)), Plan)
    except (OSError, ValueError) as error:
        what = f"the run's plan cannot be read: {error}"
        raise LedgerError(what, where=str(path), fix="start the job again with `holdfast run`") from error


def save_request(folder: Path, request: RunRequest) -> None:
    """Write the request of a run, before anything else is done for the run; it holds references to secrets."""
    write_whole(folder / "request.json", json.dumps(asdict(request), indent=1))


def load_request(folder: Path) -> RunRequest | None:
    """Return the request of a run; None if it cannot be read."""
    try:
        return convert(parse_json(read_foreign_text(folder / "request.json")), RunRequest)
    except (OSError, ValueError):
        return None


def has_plan(folder: Path) -> bool:
    """Whether a run has a plan, so that it can be started, or was."""
    return (folder / "plan.json").exists()


def supervising(folder: Path) -> AbstractContextManager[bool]:
    """Hold the right to supervise a run within a block; gives False if another process holds it."""
    return holding(folder / SUPERVISOR)


def is_supervised(folder: Path) -> bool:
    """Whether a process holds the right to supervise a run."""
    return is_held(folder / SUPERVISOR)


class Tail:
    """The part of a growing file that was not read yet.

    Args:
        path: The file, which may not exist yet.
        past: Whether to read what the file already contains, too.
    """

    def __init__(self, path: Path, *, past: bool) -> None:
        self._path = path
        self._offset = path.stat().st_size if not past and path.exists() else 0

    def read(self) -> bytes:
        """Return the bytes that were added since the last call; of very many, the last."""
        if not self._path.exists():
            return b""
        with self._path.open("rb") as file:
            left_out = max(0, file.seek(0, SEEK_END) - self._offset - MOST_NEWS)
            file.seek(self._offset + left_out)
            news = file.read(MOST_NEWS)
        self._offset += left_out + len(news)
        return b"[%d bytes are left out here]\n%b" % (left_out, news) if left_out else news
