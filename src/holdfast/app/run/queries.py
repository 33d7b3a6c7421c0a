"""What runs there are, what became of them, what they said, and whether a checkpoint is whole."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.adapters.storage.checkpoints import verify_checkpoint
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.run.refusing import read_refusal
from holdfast.app.run.runs import NO_OBSERVER, RunObserver, open_run
from holdfast.core.errors import UsageError
from holdfast.core.event import fold
from holdfast.engine.run.answers import answer_run, answer_runs, answer_verify

Answer = dict[str, Any]


def runs(*, runs: PathName | None = None) -> Answer:
    """List the runs of a runs folder, oldest first.

    >>> import holdfast
    >>> [run["stage"] for run in holdfast.runs()["runs"]]  # doctest: +SKIP
    ['succeeded', 'running']
    """
    base = runs_folder(runs)
    ledger = Ledger(base)
    states = {name: fold(ledger.outline(name)) for name in ledger.runs()}
    return answer_runs((name, state, is_supervised(base / name)) for name, state in states.items())


def show(run: PathName, *, runs: PathName | None = None) -> Answer:
    """Show the status and the result of a run.

    >>> import holdfast
    >>> holdfast.show("quickstart-20261121-154501-x7")["metrics"]  # doctest: +SKIP
    {'eval_loss': 1.13, 'train_loss': 1.61}

    Raises:
        UsageError: There is no such run.
    """
    found = open_run(run, runs)
    state = found.state()
    refusal = [asdict(each) for each in read_refusal(found, state)]
    told = answer_run(found.name, state, verb="show")
    return {**told, "refusal": refusal, "supervised": is_supervised(found.folder)}


def logs(run: PathName, *, attempt: int | None = None, runs: PathName | None = None) -> Answer:
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
    found = open_run(run, runs)
    attempts = {each.number for each in found.state().attempts}
    number = attempt or max(attempts, default=0)
    if number not in attempts:
        fix = f"choose one of {sorted(attempts)}" if attempts else "it was never started; `holdfast show` says why"
        raise UsageError(f"{found.name} has no attempt {number}", where=str(found.folder), fix=fix)
    folder = found.folder / "attempts" / str(number)
    streams = {stream: _read(folder / f"{stream}.log") for stream in ("stdout", "stderr")}
    return {"schema": 1, "verb": "logs", "run": found.name, "attempt": number, "folder": str(folder), **streams}


def watch(run: PathName, *, runs: PathName | None = None, observer: RunObserver = NO_OBSERVER) -> Answer:
    """Follow a run to its end; return what became of it.

    >>> import holdfast
    >>> holdfast.watch("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'succeeded'

    Raises:
        UsageError: There is no such run.
    """
    found = open_run(run, runs)
    return {**answer_run(found.name, found.watch(observer), verb="watch"), "supervised": is_supervised(found.folder)}


def verify(checkpoint: PathName) -> Answer:
    """Verify that a checkpoint or model folder is complete.

    >>> import holdfast
    >>> holdfast.verify("runs/quickstart-20261121-154501-x7/model")["verdict"]  # doctest: +SKIP
    'whole'

    Raises:
        UsageError: There is no such folder.
    """
    if not Path(checkpoint).is_dir():
        raise UsageError(f"no such folder: {checkpoint}", where=str(Path.cwd()), fix="name a checkpoint's folder")
    return answer_verify(verify_checkpoint(Path(checkpoint)))


def _read(path: Path) -> str:
    return path.read_bytes().decode(errors="replace") if path.exists() else ""
