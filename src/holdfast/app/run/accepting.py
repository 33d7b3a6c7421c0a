"""Accepting the changed settings because of which a run did not continue from its checkpoint."""

from collections.abc import Sequence

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.run_folder import is_supervised
from holdfast.app.run.runs import Run
from holdfast.core.errors import UsageError
from holdfast.core.run.event import ChangesAccepted
from holdfast.core.run.remedy import SettingChange
from holdfast.core.run.training_event import ROWS_SETTING


def require_changes(run: Run) -> None:
    """Raise UsageError if there are no changes to accept; of a run that another process supervises by now, they have been."""
    try:
        _refused_changes(run)
    except UsageError:  # raised before the look at the supervisor, which may have begun in between
        if not is_supervised(run.folder):
            raise


def accept_changes(run: Run) -> None:
    """Record that the settings may differ because of which the newest attempt did not continue from its checkpoint.

    Raises:
        UsageError: There are none.
    """
    settings = {
        each.key: None if each.key == ROWS_SETTING else each.after for each in _refused_changes(run)
    }  # a script may draw other rows each time
    run.ledger.append(run.name, [ChangesAccepted(at_s=SystemClock().now_s(), settings=settings)])


def _refused_changes(run: Run) -> Sequence[SettingChange]:
    changes = run.state().refused_changes
    if not changes:
        what = f"{run.name} has no changes to accept: its last attempt was not refused because of any"
        raise UsageError(what, where="--accept-changes", fix="leave the option out")
    return changes
