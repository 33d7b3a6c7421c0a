"""Following a run from any terminal."""

from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.app.arguments import PathName
from holdfast.app.run.costs import cost_usd
from holdfast.app.run.observers import NO_OBSERVER, RunObserver
from holdfast.app.run.opening import open_newest_run
from holdfast.engine.run.answers import run_result
from holdfast.results.run import RunResult


def watch(run: PathName, *, runs: PathName | None = None, observer: RunObserver = NO_OBSERVER) -> RunResult:
    """Follow a run to its end, and return its result.

    >>> import holdfast
    >>> holdfast.watch("quickstart-20261121-154501-x7")["stage"]  # doctest: +SKIP
    'succeeded'

    Raises:
        UsageError: There is no such run.
    """
    found, _ = open_newest_run(run, runs)
    state = found.watch(observer)
    supervised, cost = is_supervised(found.folder), cost_usd(found.folder, state)
    return run_result(found.name, state, "watch", supervised=supervised, cost_usd=cost)
