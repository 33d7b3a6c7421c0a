"""What became of a training that a fault struck: what the run did, and whether its losses are those of an undisturbed training."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap
from math import isclose, isnan
from pathlib import PurePath
from typing import Final

from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.core.rehearse.rehearsed_fault import FaultAction, FaultStatus, LossAgreement, RehearsedFault
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Diagnosed, Event, Reported, RunStage
from holdfast.core.run.run_state import RunState, fold
from holdfast.core.run.training_event import StepDone, TrainingEnded, TrainingEvent
from holdfast.engine.faults.kinds import FaultKind
from holdfast.engine.faults.strikes import first_training
from holdfast.engine.rehearse.continuing import REDRAWN, SAME
from holdfast.engine.run.verdict import first_sentences

HALF: Final = 1e-2
"""How far losses of bf16 or fp16 may lie apart, relative to their size, after some steps."""
LOGGED: Final = ("loss", "grad_norm")
Losses = Mapping[int, float]
"""The loss of each step; NaN if the trainer logged none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyRun:
    """A run that a fault struck.

    Attributes:
        kind: The fault.
        steps: The steps of the undisturbed training.
        undisturbed: The part that played it.
        first: The part that the fault struck.
        closed: The run's state when it was closed.
        events: All events, those of a resume by a person included.
        diagnosed: What `holdfast diagnose` says of the first attempt.
        could_resume: The checkpoint that a person could resume from; None if there is none.
        passed_over: What is wrong with newer ones.
        same_weights: Whether the last attempt saved the weights of the undisturbed training, bit for bit; None if that is not known.
    """

    kind: FaultKind
    steps: int
    undisturbed: PartResult
    first: PartResult
    closed: RunState
    events: Sequence[Event]
    diagnosed: Diagnosed
    could_resume: str | None
    passed_over: tuple[str, ...]
    same_weights: bool | None


def judge_fault(run: FaultyRun) -> RehearsedFault:
    """Return what became of a training that a fault struck."""
    state = fold(run.events)
    found = _struck(run, state.attempts[0])
    found = _continued(found, run, state) if state.attempts[1:] else _ended(found, run)
    status, because = _status(found, state, run)
    return replace(found, status=status, because=because)


def _struck(run: FaultyRun, first: AttemptState) -> RehearsedFault:
    """Return the effect of a fault on the first attempt, and the reaction of the run."""
    remedies = run.closed.remedies
    return RehearsedFault(
        name=run.kind.name,
        status="stops",
        step=_struck_step(run.first),
        steps=run.steps,
        said=_said(run, first),
        diagnosis=run.diagnosed.name or None,
        rank=run.diagnosed.rank,
        where=None if run.diagnosed.rank is None else run.diagnosed.where,
        is_cause=_is_cause(run),
        action=_action(run.closed),
        verdict=run.closed.because or None,
        changes=tuple(chain.from_iterable(each.changes for each in remedies)),
        skips=next((each.skips for each in remedies if each.skips), None),
        differs=tuple(chain.from_iterable(each.differs for each in remedies)),
    )


def _is_cause(run: FaultyRun) -> bool | None:
    """True if the diagnosis names the fault and, if one of several processes was struck, that one; None if it names nothing."""
    if not run.diagnosed.name:
        return None
    struck = run.first.first("fault").get("rank")
    return run.diagnosed.name in run.kind.classes and struck in (None, run.diagnosed.rank)


def _continued(found: RehearsedFault, run: FaultyRun, state: RunState) -> RehearsedFault:
    """Return a fault with what the attempts that followed it came to."""
    first, second, last = state.attempts[0], state.attempts[1], state.attempts[-1]
    resumed = None if found.action == "finishes" else second.resume_from
    return replace(
        found,
        passed_over=second.passed_over,
        resume_from=PurePath(resumed).name if resumed else None,
        lost_steps=_lost_steps(first, resumed),
        played=last.stage is RunStage.SUCCEEDED,
        loss=_agreement(run, state),
        same_weights=run.same_weights,
    )


def _ended(found: RehearsedFault, run: FaultyRun) -> RehearsedFault:
    """Return a fault after which no attempt followed, with the checkpoint that a person could resume from."""
    resumed = None if found.action == "finishes" else run.could_resume
    return replace(found, passed_over=run.passed_over, resume_from=PurePath(resumed).name if resumed else None)


def _struck_step(first: PartResult) -> int:
    """Return the step that a fault struck in; of one at a push, the last step that was done before."""
    struck = first.first("fault")
    done = [event.step or 0 for event in first.happened(StepDone) if event.at is not None and event.at <= struck["at"]]
    return int(struck.get("step") or max(done, default=0))


def _action(closed: RunState) -> FaultAction:
    if len(closed.attempts) == 1:
        return "finishes" if closed.attempts[0].stage is RunStage.SUCCEEDED else "stops"
    return "changes" if closed.remedies else "continues"


def _status(found: RehearsedFault, state: RunState, run: FaultyRun) -> tuple[FaultStatus, str | None]:
    """Return what becomes of the training, and why."""
    if found.action == "finishes":
        return _status_of_finished(run)
    if len(state.attempts) > 1 and (broken := _why_broken(found, state)):
        return "fails", broken
    if run.closed.stage is RunStage.SUCCEEDED:
        return "recovers", None
    if found.resume_from is None:
        return "loses", "no checkpoint to resume from: training starts over"
    return ("resumes", None) if len(state.attempts) > 1 else ("stops", run.diagnosed.fix or None)


def _why_broken(found: RehearsedFault, state: RunState) -> str:
    """Return why the attempts that followed are not what they should be; empty if they are."""
    last = state.attempts[-1]
    if last.stage is not RunStage.SUCCEEDED:
        return f"the next attempt failed: {state.because or last.because}"
    differs = found.loss == "differs" and not found.differs
    return "its losses differ from those of the undisturbed training without a reason" if differs else ""


def _status_of_finished(run: FaultyRun) -> tuple[FaultStatus, str | None]:
    lost = run.closed.attempts[0].lost
    if lost is None:
        return "recovers", "the libraries got over it by themselves"
    return "loses", (
        f"it trains to its last step and exits with 0, though nothing is finite since step {lost.first}: the run of a script is not stopped "
        "for that"
    )


def _said(run: FaultyRun, first: AttemptState) -> str | None:
    """Return what the libraries reported of the fault, in one line; None if nothing. Of several processes, the first reports; it may be a victim."""
    end = first.end or TrainingEnded()
    if run.diagnosed.rank:
        return None
    if end.status == "failed":
        return first_sentences(end.because or "")
    if end.status == "stopped" and not run.closed.attempts[0].lost:
        return f"saved checkpoint-{first.steps}, and exited with code {first.exit_code}"
    return _said_of_nan(run)


def _said_of_nan(run: FaultyRun) -> str | None:
    lost = [event for event in run.first.happened(StepDone) if event.nan]
    if not lost or run.kind.name != "nan-gradients":
        return None
    last = lost[-1]
    loss = "" if last.loss is None else f", loss: {last.loss:g}"
    return f"{', '.join(f'{name}: nan' for name in last.nan if name in LOGGED)}{loss}; training continued"


def _lost_steps(first: AttemptState, resumed: str | None) -> int:
    return first.steps - (int(resumed.rpartition("-")[2]) if resumed else 0)


def losses_of(events: Sequence[TrainingEvent]) -> Losses:
    """Return the loss of each step of the first training."""
    done = [event for event in first_training(events) if isinstance(event, StepDone)]
    return {event.step: float("nan") if event.loss is None else event.loss for event in done if event.step}


def _agreement(run: FaultyRun, state: RunState) -> LossAgreement:
    """Return how the losses of the last attempt compare with those of the undisturbed training."""
    whole = losses_of(run.undisturbed.events)
    if _compare(_losses_before(run.first), whole) == "differs":
        return "not_compared"  # two runs of this script from the beginning differ
    agreement = _compare(_losses_of_last(run, state), whole, later=_tolerance(run.undisturbed))
    if agreement == "same" and run.same_weights is False:
        return "rounded"
    redrawn = any(map(run.undisturbed.first, REDRAWN))
    return "not_compared" if agreement == "differs" and redrawn else agreement


def _losses_before(first: PartResult) -> Losses:
    """Return the losses of the steps before a fault struck."""
    struck = _struck_step(first)
    return {step: loss for step, loss in losses_of(first.events).items() if step < struck}


def _losses_of_last(run: FaultyRun, state: RunState) -> Losses:
    last = state.attempts[-1].number
    reports = (event for event in run.events if isinstance(event, Reported))
    return losses_of([event.training_event for event in reports if event.attempt == last])


def _tolerance(undisturbed: PartResult) -> float:
    """Return how far losses may lie apart after some steps, relative to their size."""
    arguments = undisturbed.first("training").get("arguments", {})
    return HALF if arguments.get("bf16") or arguments.get("fp16") else SAME


def _compare(some: Losses, whole: Losses, *, later: float = SAME) -> LossAgreement:
    """Return how the losses of some steps compare with those of the undisturbed training.

    The first of them comes of the same weights and the same rows. Later ones differ more in half precision: an optimizer that scales each
    gradient by its own size turns a last digit into a step.
    """
    pairs = [(loss, whole[step]) for step, loss in sorted(some.items()) if step in whole]
    if not pairs:
        return "not_compared"
    if all(starmap(_is_same, pairs)):
        return "same"
    return "rounded" if _are_close(pairs[:1], SAME) and _are_close(pairs[1:], later) else "differs"


def _is_same(one: float, other: float) -> bool:
    return one == other or (isnan(one) and isnan(other))


def _are_close(pairs: Iterable[tuple[float, float]], far: float) -> bool:
    return all(isclose(one, other, rel_tol=far, abs_tol=far) for one, other in pairs)
