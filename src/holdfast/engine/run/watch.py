"""Watching a run that another process supervises."""

from collections.abc import Callable, Sequence

from holdfast.core.run.event import Event
from holdfast.core.run.run_state import RunState, fold
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
    """Follow a run's events; return when no process supervises it any more.

    An end in the ledger may be an older one: the supervisor is about to start another attempt.

    Args:
        run: Name of the run.
        store: The ledger.
        clock: Waits between two looks at the ledger.
        observe: Called with the state and the new events after each look.
        goes_on: Whether a process supervises the run.
    """
    state, read = RunState(), 0
    while True:
        supervised = goes_on()  # looked up before reading, so that the last events of a supervisor are not missed
        stored = store.read(run, after=read)
        read = stored[-1][0] if stored else read
        state = fold((event for _, event in stored), state)
        observe(state, [event for _, event in stored])
        if not supervised:
            return state
        clock.sleep(POLL_S)
