"""The output of a run's training process."""

from pathlib import Path

from holdfast.adapters.foreign_files import read_both_ends
from holdfast.app.arguments import PathName
from holdfast.app.run.opening import open_newest_run
from holdfast.core.errors import UsageError
from holdfast.results.run import LogsResult

MOST_OUTPUT = 32_000_000
"""Bytes of each stream that `logs` returns."""


def logs(run: PathName, *, attempt: int | None = None, runs: PathName | None = None) -> LogsResult:
    """Return the output of a run's training process.

    >>> import holdfast
    >>> print(holdfast.logs("quickstart-20261121-154501-x7")["stderr"])  # doctest: +SKIP

    Args:
        run: Name of the run.
        attempt: Which attempt. Default: the newest.
        runs: The runs folder.

    Raises:
        UsageError: There is no such run or attempt.
    """
    opened, _ = open_newest_run(run, runs)
    attempts = {each.number for each in opened.state().attempts}
    number = attempt or max(attempts, default=0)
    if not attempts:
        what = f"{opened.name} has no output: it has not started"
        raise UsageError(what, where=str(opened.folder), fix=f"`holdfast show {opened.name}` says why")
    if number not in attempts:
        fix = f"choose one of {sorted(attempts)}"
        raise UsageError(f"{opened.name} has no attempt {number}", where=str(opened.folder), fix=fix)
    folder = opened.folder / "attempts" / str(number)
    return LogsResult(
        verb="logs",
        run=opened.name,
        attempt=number,
        folder=str(folder),
        stdout=_read(folder / "stdout.log"),
        stderr=_read(folder / "stderr.log"),
    )


def _read(path: Path) -> str:
    try:
        return read_both_ends(path, MOST_OUTPUT)
    except OSError:
        return ""
