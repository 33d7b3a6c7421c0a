"""Whether an attempt makes no progress any more: judged by the silences that it has shown itself, and by the user's own limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Liveness
from holdfast.core.run.trouble import Trouble
from holdfast.engine.units import render_duration

ACTIVITIES: Final[Mapping[str, str]] = {
    "import": "its script prepares the training: libraries, data, a model",
    "load": "its trainer is being made",
    "first-step": "it does the first step of an epoch",
    "step": "it does a step",
    "evaluate": "it evaluates",
    "save": "it saves a checkpoint",
    "callback": "a callback runs",
    "finish": "its script does what follows the last step",
}
"""What a training does, in words; an activity without silences of its own is judged by the user's limit alone."""
UNHEARD_POLLS: Final = 4
"""Polls that the time between two of them may take, and still count: a supervisor that was away longer has heard nothing meanwhile."""
Silence = Literal["conspicuous", "stalled"]


@dataclass(frozen=True, slots=True)
class Hearing:
    """For how long an attempt has reported nothing, though it is alive and all that it writes arrives.

    Attributes:
        silent_s: Seconds.
        reports: How many reports there were.
        at_s: Unix time of the last poll whose answer was known; None before the first.
    """

    silent_s: float = 0.0
    reports: int = -1
    at_s: float | None = None

    def after(self, attempt: AttemptState, now_s: float, poll_s: float) -> "Hearing":
        """Return the hearing after a poll. Of an attempt whose state is unknown, nothing was heard, and nothing is counted."""
        if attempt.answer is not Liveness.ALIVE or attempt.phase:
            return Hearing(self.silent_s, self.reports, None)
        if attempt.reports != self.reports:
            return Hearing(0.0, attempt.reports, now_s)
        passed_s = 0.0 if self.at_s is None else min(max(now_s - self.at_s, 0.0), UNHEARD_POLLS * poll_s)
        return Hearing(self.silent_s + passed_s, self.reports, now_s)


def judge_silence(attempt: AttemptState, hearing: Hearing, limit_s: float | None) -> Silence | None:
    """Return what the silence of an attempt means; None if it means nothing.

    Args:
        attempt: The attempt.
        hearing: For how long nothing was heard of it.
        limit_s: The user's own limit in seconds, which holds instead of what was learnt; None if there is none.
    """
    if attempt.answer is not Liveness.ALIVE:
        return None
    if limit_s is not None:
        return "stalled" if attempt.idle_s + hearing.silent_s > limit_s else None
    limits = attempt.rhythm.limits(attempt.activity)
    if limits is None or attempt.idle_s <= limits.conspicuous_s:
        return None
    return "stalled" if attempt.idle_s > limits.stall_s else "conspicuous"


def describe_silence(attempt: AttemptState) -> str:
    """Return what an attempt that is silent does, since when, and how long that usually takes."""
    doing = ACTIVITIES.get(attempt.activity, "it is silent")
    limits = attempt.rhythm.limits(attempt.activity)
    usual = f"; usually it takes at most {render_duration(limits.usual_s)} for that" if limits else ""
    since = f" for {render_duration(attempt.idle_s)}" if attempt.idle_s else ""
    return f"no sign of life{since} while {doing}{usual}"


def silence_trouble(attempt: AttemptState) -> Trouble | None:
    """Return a conspicuous silence as a sign of trouble; None if it was noted before."""
    noted = any(each.kind == "no-progress" and each.step == attempt.steps for each in attempt.troubles)
    return None if noted else Trouble(kind="no-progress", text=describe_silence(attempt), step=attempt.steps)
