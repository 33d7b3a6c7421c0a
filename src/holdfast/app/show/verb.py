"""Showing a run. Its state does not change; a missing `report.html` is written."""

from contextlib import suppress

from msgspec import UNSET, structs

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.removal import read_removal
from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.app.arguments import PathName
from holdfast.app.models.run_models import FINAL
from holdfast.app.run.costs import cost_usd
from holdfast.app.run.kept_results import load_evaluations, load_result, read_refusals
from holdfast.app.run.opening import open_newest_run
from holdfast.app.run.runs import with_unread
from holdfast.core.errors import LedgerError
from holdfast.engine.run.answers import remaining_time, run_result, with_evaluations
from holdfast.engine.run.rehearsed import summarize_rehearsal
from holdfast.results.rehearse import RehearseResult
from holdfast.results.run import RunResult


def show(run: PathName, *, runs: PathName | None = None) -> RunResult:
    """Show the status and the result of a run. The name of a job means its newest run.

    >>> import holdfast
    >>> holdfast.show("quickstart-20261121-154501-x7")["metrics"]  # doctest: +SKIP
    {'eval_loss': 1.13, 'train_loss': 1.61}

    Raises:
        UsageError: There is no such run.
    """
    opened, others = open_newest_run(run, runs)
    supervised = is_supervised(opened.folder)
    state = with_unread(opened.folder, opened.state(), supervised=supervised)
    if state.stage.ended and not supervised and not (opened.folder / "report.html").exists():
        from holdfast.app.run.reporting import write_report  # few runs lack a report

        with suppress(LedgerError):  # a folder that is gone, or cannot be written
            write_report(opened)  # the supervisor was killed after the verdict, before the report
    cost = cost_usd(opened.folder, state)
    result = run_result(opened.name, state, "show", supervised=supervised, cost_usd=cost)
    removal = read_removal(opened.folder)
    if FINAL in removal.removed:
        result = structs.replace(result, output=None, removed=removal.because)
    rehearsal = load_result(opened.folder, RehearseResult)
    return structs.replace(
        with_evaluations(result, load_evaluations(state.evaluated)),
        remaining_s=remaining_time(state, SystemClock().now_s(), supervised=supervised),
        refusal=read_refusals(opened, state),
        rehearsed=summarize_rehearsal(rehearsal) if rehearsal else None,
        others=others or UNSET,
    )
