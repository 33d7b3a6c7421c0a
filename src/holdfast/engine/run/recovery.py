"""Whether a run whose attempt failed goes on by itself, as it is.

A failed attempt is followed by another if its cause is known, another attempt can help against that cause without a change, and a person did
not end it. The number of attempts is bounded, and an attempt that came no further than the one before it is the last.
"""

from dataclasses import replace
from typing import Final

from holdfast.core.backends import DEFAULT_BACKEND
from holdfast.core.event import Diagnosed, RunStage, RunState

CERTAIN: Final = 0.75
"""The confidence that a cause needs, so that money is spent again."""
BY_PEOPLE: Final = frozenset({"job-cancelled-externally", "killed-by-sighup", "stdout-closed"})
"""Classes of failure in which a person, or what a person set up, ended the attempt."""
PREEMPTED: Final = "job-preempted-or-requeued"
"""The class of a signal from outside. On this machine no scheduler sends one: there it counts as a person's, too."""
FIRST_PAUSE_S: Final = 30.0
LONGEST_PAUSE_S: Final = 600.0


def ended_unasked(state: RunState) -> bool:
    """True if the newest attempt failed, and nobody had asked for its end."""
    current = state.current
    return current is not None and current.stage in (RunStage.FAILED, RunStage.CANCELLED) and not state.stop


def with_next_attempt(cause: Diagnosed, state: RunState, attempts: int) -> Diagnosed:
    """Return the cause of an attempt's failure with the pause before the next attempt, if there is to be one.

    Args:
        cause: The cause.
        state: The run, whose newest attempt failed.
        attempts: How many attempts it may have.
    """
    before = [each.steps for each in state.attempts[-2:]]
    stalls = len(before) > 1 and before[1] <= before[0]
    if not _is_transient(cause, state) or stalls or not ended_unasked(state) or len(state.attempts) >= attempts:
        return cause
    doubled: float = FIRST_PAUSE_S * 2 ** (len(state.attempts) - 1)
    return replace(cause, next_s=min(doubled, LONGEST_PAUSE_S))


def _is_transient(cause: Diagnosed, state: RunState) -> bool:
    is_here = state.current is not None and state.current.backend == DEFAULT_BACKEND.name
    by_people = {*BY_PEOPLE, PREEMPTED} if is_here else BY_PEOPLE
    return cause.retry == "yes" and cause.confidence >= CERTAIN and cause.name not in by_people
