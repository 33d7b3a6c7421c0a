"""Watching a run that somebody else supervises."""

from collections.abc import Callable, Sequence

from holdfast.core.event import Event, RunState, fold
from holdfast.ports import Clock, Store

POLL_S = 0.5


def watch_run(
    run: str,
    store: Store,
    clock: Clock,
    *,
    observe: Callable[[RunState, Sequence[Event]], None],
    goes_on: Callable[[], bool],
) -> RunState:
    """Show a run's events as they come; return when it has ended, or when nobody supervises it any more.

    Args:
        run: Name of the run.
        store: The ledger.
        clock: Passes the time between looks.
        observe: Is shown the state and the new events after each look.
        goes_on: Whether somebody supervises the run.
    """
    state, read = RunState(), 0
    while True:
        supervised = goes_on()  # asked before the look: what a supervisor wrote last is then seen
        stored = store.read(run, after=read)
        read = stored[-1][0] if stored else read
        state = fold((event for _, event in stored), state)
        observe(state, [event for _, event in stored])
        if state.stage.ended or not supervised:
            return state
        clock.sleep(POLL_S)
