"""Accepting the changed settings because of which a run did not continue from its checkpoint."""

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.run_folder import supervising
from holdfast.app.run.runs import Run
from holdfast.core.errors import UsageError
from holdfast.core.run.event import ChangesAccepted
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import ROWS_SETTING


def accept_refused_changes(run: Run, before: RunState) -> RunState:
    """Record that the settings may differ because of which the newest attempt did not continue from its checkpoint.

    Args:
        run: The run.
        before: The state in which the changes were seen. If another process supervises the run, or has done so since, nothing is recorded.

    Returns:
        The state after that.

    Raises:
        UsageError: There are no changes to accept.
    """
    with supervising(run.folder) as mine:
        if not mine or run.state() != before:
            return before
        if not before.refused_changes:
            what = f"{run.name} has no changes to accept: its last attempt was not refused because of any"
            raise UsageError(what, where="--accept-changes", fix="leave the option out")
        # A script may draw other rows each time.
        settings = {each.key: None if each.key == ROWS_SETTING else each.after for each in before.refused_changes}
        run.ledger.append(run.name, [ChangesAccepted(at_s=SystemClock().now_s(), settings=settings)])
        return run.state()
