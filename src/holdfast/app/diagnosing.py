"""The verb `diagnose`: why a job failed, from its logs, or from a run that the ledger knows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from signal import Signals
from typing import Any, Final

from holdfast.adapters.log_files import open_logs, read_chunks
from holdfast.app.runs import Run, open_run
from holdfast.core.errors import UsageError
from holdfast.core.event import AttemptState, Stage
from holdfast.engine.diagnose import Marks, read_log
from holdfast.engine.diagnose import diagnose as judge
from holdfast.engine.diagnosis_answers import answer_diagnose
from holdfast.signatures import all_signatures

Answer = dict[str, Any]
Files = list[tuple[str, Iterator[bytes]]]
STDIN: Final = "-"
LEDGER: Final = "the ledger"
"""In the place of a log's path: what the supervisor knows."""


def diagnose(targets: Sequence[str] | str, *, runs: str | None = None) -> Answer:
    """Say what made a job fail, with its evidence and its fix; or that it is healthy, or what is missing to know.

    Args:
        targets: Logs of one job (files, folders of them, `-` for standard input), or the name of a run.
        runs: The runs folder, for a run's name.

    Raises:
        UsageError: There is no such log and no such run, or it is no text.
    """
    named = [targets] if isinstance(targets, str) else list(targets)
    files = _files(named, runs)
    marks = Marks(all_signatures())
    found = judge(read_log(files, marks.sought), marks)
    return answer_diagnose(found, [path for path, _ in files])


def _files(named: Sequence[str], runs: str | None) -> Files:
    """Return the logs that are meant, each with its bytes.

    Raises:
        UsageError: There are none.
    """
    if not named:
        raise UsageError(
            "no log is named", where="holdfast diagnose", fix="name a log, a run, or `-` for standard input"
        )
    if len(named) > 1 or named[0] == STDIN or Path(named[0]).exists():
        return open_logs(named)
    try:
        run = open_run(named[0], runs)
    except UsageError as error:
        what = f"{named[0]} is neither a log nor a run"
        raise UsageError(what, where=named[0], fix=f"name a file that is there; of runs, {error.fix}") from None
    return files_of(run)


def files_of(run: Run) -> Files:
    """Return the logs of a run's newest attempt, and what the ledger knows of it, as a log of its own."""
    current = run.state().current
    folder = run.folder / "attempts" / str(current.number if current else 1)
    logs = [folder / name for name in ("stdout.log", "stderr.log")]
    files: Files = [(str(path), read_chunks(str(path))) for path in logs if path.is_file()]
    if current is not None and current.stage is not Stage.SUCCEEDED:
        files.append((LEDGER, iter(["".join(f"{line}\n" for line in _known(current)).encode()])))
    return files


def _known(attempt: AttemptState) -> Iterator[str]:
    """Yield what the supervisor knows of an attempt that did not succeed, in the words that launchers use."""
    if attempt.exit_code is not None and attempt.exit_code < 0:
        yield f"failed (exitcode: {attempt.exit_code}) {Signals(-attempt.exit_code).name}"
    elif attempt.exit_code is not None:
        yield f"the training process ended with exit code {attempt.exit_code}"
    if attempt.because:
        yield attempt.because
    end = attempt.end or {}
    if end.get("because"):
        yield str(end["because"])
