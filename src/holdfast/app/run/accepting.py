"""Accepting the changed settings because of which a run did not continue from its checkpoint."""

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.app.run.runs import Run
from holdfast.core.errors import UsageError
from holdfast.core.run.event import ChangesAccepted
from holdfast.core.run.training_event import ROWS_SETTING


def require_changes(run: Run) -> None:
    """Raise UsageError if there are no changes to accept; of a run that another process supervises by now, they have been."""
    # The changes are read first: if another process has just accepted them, it supervises the run by then.
    if not run.state().refused_changes and not is_supervised(run.folder):
        raise _nothing_to_accept(run)


def accept_changes(run: Run) -> None:
    """Record that the settings may differ because of which the newest attempt did not continue from its checkpoint.

    Raises:
        UsageError: There are none.
    """
    changes = run.state().refused_changes
    if not changes:
        raise _nothing_to_accept(run)
    # A script may draw other rows each time.
    settings = {each.key: None if each.key == ROWS_SETTING else each.after for each in changes}
    run.ledger.append(run.name, [ChangesAccepted(at_s=SystemClock().now_s(), settings=settings)])


def _nothing_to_accept(run: Run) -> UsageError:
    what = f"{run.name} has no changes to accept: its last attempt was not refused because of any"
    return UsageError(what, where="--accept-changes", fix="leave the option out")
