"""Whether a run whose attempt failed goes on by itself, and with what changed.

A failed attempt is followed by another if its cause is known, and either gone by itself or one that a permitted change of the job helps
against, and if no person ended it. On this machine a signal counts as a person's, unless the job says otherwise. The number of attempts
is bounded. A cause against which two changes did not help ends the run, and so do two attempts in a row that got no further, unless
their machine was taken away.
"""

from dataclasses import replace
from signal import SIGKILL, SIGTERM
from typing import Final

from holdfast.core.job_file.job import Job
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.event import Diagnosed, EndReason, Remedied, RunStage
from holdfast.core.run.plan import Plan
from holdfast.core.run.remedy import AppliedRemedy
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import TrainingEnded
from holdfast.engine.recover.failed_job import FailedJob
from holdfast.engine.recover.remedies import remedies_for
from holdfast.engine.recover.replanning import can_be_changed, remedied_job
from holdfast.engine.units import render_bytes

CERTAIN: Final = 0.75
"""The confidence that a cause needs, so that money is spent again."""
BY_PEOPLE: Final = frozenset({"job-cancelled-externally", "killed-by-sighup", "stdout-closed"})
"""Classes of failure in which a person, or what a person set up, ended the attempt."""
PREEMPTED: Final = "job-preempted-or-requeued"
"""The class of a signal from outside. On this machine it counts as a person's, too, unless the job permits `killed`."""
AT_ONCE: Final = frozenset({PREEMPTED, "training-stalled"})
"""Classes of failure that no pause helps against: a machine that was taken away waits for another one by itself, and a stall took long enough."""
NO_NETWORK: Final = "no-network-on-node"
"""The class of a machine that reaches no host. If that begins amid a training, names or routes failed for a while."""
NO_END: Final = TrainingEnded()
FULL_DISKS: Final = frozenset({"disk-full", "disk-quota-exceeded"})
FIRST_PAUSE_S: Final = 30.0
LONGEST_PAUSE_S: Final = 600.0
SAME_CAUSE: Final = 2
"""How many changes are tried against one cause."""
FRUITLESS: Final = 2
"""After so many attempts that got no further than the one before them, no change is tried any more."""

Decision = tuple[Diagnosed] | tuple[Diagnosed, Remedied]
"""The cause of a failure, with the pause before the next attempt, if there is to be one; and what is changed for it."""


def failed_by_itself(state: RunState) -> bool:
    """True if the newest attempt failed, and its end was not requested."""
    current = state.current
    return (
        current is not None and current.stage in (RunStage.FAILED, RunStage.CANCELLED) and not is_end_requested(state)
    )


def is_end_requested(state: RunState) -> bool:
    """True if a person, or a limit that a person set, ends the newest attempt."""
    return state.stop is not None and state.stop.is_final


def decide(cause: Diagnosed, state: RunState, attempts: int, plan: Plan | None) -> Decision:
    """Return the cause of an attempt's failure with what follows from it.

    Args:
        cause: The cause.
        state: The run, whose newest attempt failed.
        attempts: How many attempts it may have.
        plan: What its attempts start from; without it nothing can be changed.
    """
    if not failed_by_itself(state) or len(state.attempts) >= attempts or _is_final(state):
        return (cause,)
    job = remedied_job(plan, state.remedies) if plan else None
    if _is_by_people(cause, state):
        return (_after_kill(cause, state, job),)
    if not cause.name:
        return (_again_once(cause, state, job),)
    return _decide_known(_with_retry(cause, state), state, job, plan)


def _with_retry(cause: Diagnosed, state: RunState) -> Diagnosed:
    """Return a cause; with advice to try again if it is a network that was there when training began."""
    return replace(cause, retry="yes") if cause.name == NO_NETWORK and _has_done_steps(state) else cause


def _decide_known(cause: Diagnosed, state: RunState, job: Job | None, plan: Plan | None) -> Decision:
    """Return a known cause with what follows from it."""
    if cause.confidence < CERTAIN:
        return (_uncertain(cause),)
    if cause.retry == "yes":
        return (_again(cause, state),)
    if job is None or plan is None or state.current is None:
        return (replace(cause, stops="a script is not changed by itself" if plan else ""),)
    return _change(cause, state, state.current, job, plan)


def _again(cause: Diagnosed, state: RunState) -> Diagnosed:
    """Return a cause that is gone by itself, with a pause that grows while attempts get no further; with none if two in a row did not."""
    fruitless = _fruitless(state)
    if not fruitless and cause.name in AT_ONCE and state.current is not None and state.current.steps:
        return replace(cause, next_s=0.0)
    if fruitless >= FRUITLESS and cause.name != PREEMPTED:  # a machine that is taken away says nothing of the job
        return replace(cause, stops="two attempts in a row got no further than those before them")
    doubled: float = FIRST_PAUSE_S * 2**fruitless
    return replace(cause, next_s=min(doubled, LONGEST_PAUSE_S))


def _fruitless(state: RunState) -> int:
    """Return how many attempts, from the newest one back, got no further than those before them."""
    steps = [each.steps for each in state.attempts]
    return next(
        (count for count, reached in enumerate(reversed(steps)) if reached > max(steps[: -count - 1], default=-1)), 0
    )


def _is_final(state: RunState) -> bool:
    """True if only a person can continue after the newest attempt: its settings changed, or its time was over."""
    end = state.current.end if state.current else None
    return bool(state.refused_changes) or (end is not None and end.reason == EndReason.TIMEOUT)


def _has_done_steps(state: RunState) -> bool:
    """True if the newest attempt has trained."""
    current = state.current
    return current is not None and current.started is not None and current.steps > (current.started.step or 0)


def _uncertain(cause: Diagnosed) -> Diagnosed:
    """Return a cause that is not certain enough for another attempt."""
    why = "another one would most likely fail, too" if cause.retry == "no" else "the cause is not certain enough"
    return replace(cause, stops=f"{why}: {cause.title}")


def _after_kill(cause: Diagnosed, state: RunState, job: Job | None) -> Diagnosed:
    """Return a cause that counts as a person's wish; with a pause if the job says that SIGKILL and SIGTERM do not."""
    if job is None or state.current is None or not _was_killed(state.current):
        return cause
    if "killed" not in job.recover.allow:
        return replace(
            cause, stops="a signal counts as a person's wish; `recover.allow: [killed]` lets the run continue"
        )
    return _again(cause, state)


def _was_killed(attempt: AttemptState) -> bool:
    """True if SIGKILL or SIGTERM ended an attempt on this machine."""
    is_here = capabilities_of(attempt.backend).is_here
    return is_here and (attempt.exit_code == -SIGKILL or (attempt.end or NO_END).because == SIGTERM.name)


def _again_once(cause: Diagnosed, state: RunState, job: Job | None) -> Diagnosed:
    """Return an unknown cause, with the one more attempt that a job may permit against any of them."""
    if job is None:
        return replace(cause, stops="")
    if "unknown_once" not in job.recover.allow:
        return replace(cause, stops="the cause is unknown, and `recover.allow` does not have `unknown_once`")
    if any(each.diagnosed and not each.diagnosed.name for each in state.attempts[:-1]):
        return replace(cause, stops="the cause is unknown for the second time")
    return replace(cause, next_s=FIRST_PAUSE_S)


def _change(cause: Diagnosed, state: RunState, current: AttemptState, job: Job, plan: Plan) -> Decision:
    """Return the first permitted change against a cause, or why there is none."""
    if stops := _used_up(cause, state):
        return (replace(cause, stops=stops),)
    failed = FailedJob(job=job, cause=cause, attempt=current, earlier=state.remedies, usd_per_hour=plan.usd_per_hour)
    helpful = [*remedies_for(failed)]
    chosen = next((each for each in helpful if each.permission is None or each.permission in job.recover.allow), None)
    if chosen is None:
        return (replace(cause, stops=describe_room(cause, current) or _refused(helpful)),)
    if not can_be_changed(plan):
        stops = f"the job has a secret in its settings, and is not rendered anew: {chosen.describe()}"
        return (replace(cause, stops=stops),)
    remedied = Remedied(at_s=cause.at_s, attempt=current.number, cause=cause.name, remedy=chosen)
    return replace(cause, next_s=0.0), remedied


def _used_up(cause: Diagnosed, state: RunState) -> str:
    """Return why nothing more is tried against a cause; empty if something may be."""
    earlier = [
        each for each in state.attempts[:-1] if each.diagnosed and each.diagnosed.name == cause.name and each.remedy
    ]
    if len(earlier) >= SAME_CAUSE:
        return f"{SAME_CAUSE} changes did not help against this cause"
    if _fruitless(state) >= FRUITLESS:
        return "two attempts in a row got no further than those before them"
    return ""


def describe_room(cause: Diagnosed, attempt: AttemptState) -> str:
    """Return how much room the checkpoints of a run take whose disk was full; empty if that was not the cause, or is not known."""
    if cause.name not in FULL_DISKS or not attempt.checkpoint_bytes or attempt.started is None:
        return ""
    size, kept = render_bytes(attempt.checkpoint_bytes), attempt.started.config.get("save_total_limit")
    if not isinstance(kept, int):
        return f"a checkpoint takes {size}, and `save_total_limit` keeps all of them: free some disk, or limit them"
    room = render_bytes((kept + 1) * attempt.checkpoint_bytes)
    return (
        f"a checkpoint takes {size}, and `save_total_limit` keeps {kept}: with the one being written, {room} are needed"
    )


def _refused(helpful: list[AppliedRemedy]) -> str:
    """Return why none of the changes that help is made."""
    if not helpful:
        return "nothing that a run changes by itself helps against it"
    named = "; ".join(f"{each.describe()} (`{each.permission}`)" for each in helpful)
    return f"`recover.allow` does not permit what may help: {named}"


def _is_by_people(cause: Diagnosed, state: RunState) -> bool:
    is_here = state.current is not None and capabilities_of(state.current.backend).is_here
    return cause.name in ({*BY_PEOPLE, PREEMPTED} if is_here else BY_PEOPLE)
