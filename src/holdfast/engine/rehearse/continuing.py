"""The stages `stop` and `resume`: a stopped job must save first, and go on from there with the same losses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isclose, isnan
from typing import Any, Final

from holdfast.core.rehearse.rehearsal import Objection, Part, PartResult, StageName, StageResult, Status
from holdfast.core.run.training_event import CheckpointSaved, StepDone, TrainingStarted

STOPPED: Final = 143
"""Exit code of an attempt that saved and stopped on request."""
DIVERGES: Final = "resume-diverges"
"""The class of a training that goes on from its checkpoint, and differs from one that was not stopped."""
SAME: Final = 1e-4
"""How far two losses of the same step may lie apart, relative to their size."""

REDRAWN: Final = {
    "random_batches": "batches are drawn at random, and a training that goes on draws others",
    "stream_ends": "the stream of rows is over before the training, and one that goes on does not find its place in it",
}
"""What makes the steps after a resume others though nothing is lost, by the fact that is reported of it."""

Wrong = tuple[str, str, Mapping[str, Any]]
"""A class, what shows it, and its values."""


@dataclass(frozen=True, slots=True)
class StageFindings:
    """What one of the two stages showed.

    Attributes:
        result: The verdict.
        failed: The part that failed, where its log tells why.
        wrong: What it is, where no log tells.
    """

    result: StageResult
    failed: PartResult | None = None
    wrong: Wrong | None = None


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of one part: loss by step."""

    losses: Mapping[int, float] = field(default_factory=dict[int, float])

    def agrees(self, other: "_Steps") -> bool:
        """Whether the steps that both took have the same loss."""
        common = self.losses.keys() & other.losses.keys()
        return bool(common) and all(_close(self.losses[step], other.losses[step]) for step in common)


def judge_stop(parts: Mapping[Part, PartResult]) -> StageFindings:
    """Return the findings on the checkpoint that the job saved when it was stopped in the middle of a step."""
    played = parts.get("stop")
    if played is None:
        return _stage_findings("stop", "not_rehearsed", 0.0, "it was not requested")
    if played.is_slow:
        return _stage_findings("stop", "not_rehearsed", played.elapsed_s, f"{played.over} here")
    if played.code == STOPPED:
        return _judge_saved(played)
    if played.code == 0:
        return _stage_findings(
            "stop", "not_rehearsed", played.elapsed_s, "training was over before the step to stop in"
        )
    return _stage_findings("stop", "fail", played.elapsed_s, played.over or "it failed otherwise", failed=played)


def _judge_saved(stopped: PartResult) -> StageFindings:
    """Return the findings on a job that stopped on request: it must have saved a whole checkpoint."""
    if stopped.happened(CheckpointSaved) and not stopped.damage:
        return _stage_findings("stop", "pass", stopped.elapsed_s)
    because = stopped.damage or "asked to stop amid a step, the job ended and saved nothing"
    return _stage_findings("stop", "fail", stopped.elapsed_s, because, wrong=("no-checkpoint-saved", because, {}))


def judge_resume(parts: Mapping[Part, PartResult]) -> StageFindings:
    """Return the findings on the resumed job: its loss must be that of an uninterrupted one."""
    played, stop = parts.get("resume"), parts.get("stop")
    if played is None or stop is None:
        return _stage_findings("resume", "not_rehearsed", 0.0, _not_resumed(stop))
    if played.is_slow:
        return _stage_findings("resume", "not_rehearsed", played.elapsed_s, f"{played.over} here")
    if played.code != 0:
        return _stage_findings("resume", "fail", played.elapsed_s, played.over or "it does not go on", failed=played)
    return _judge_steps(parts["whole"], stop, played)


def _judge_steps(uninterrupted: PartResult, stopped: PartResult, resumed: PartResult) -> StageFindings:
    """Return the findings on the steps of a job that was stopped and resumed, beside those of an uninterrupted one."""
    number = len(_trainings(stopped)) - 1  # a script may train more than once
    whole, before, after = (_steps(each, number) for each in (uninterrupted, stopped, resumed))
    redrawn = _redrawn(uninterrupted) if after.losses and not whole.agrees(after) else ""
    if wrong := _wrong(whole, before, after, can_differ=bool(redrawn)):
        return _stage_findings("resume", "fail", resumed.elapsed_s, wrong[1], wrong=wrong)
    return _judge_right_steps(resumed.elapsed_s, whole, before, after, redrawn)


def _judge_right_steps(elapsed_s: float, whole: _Steps, before: _Steps, after: _Steps, redrawn: str) -> StageFindings:
    """Return the findings on steps that nothing is wrong with: they pass, unless there was none to compare."""
    if max(whole.losses, default=0) > max(before.losses, default=0) and not after.losses:
        uncompared = "the script ended without a step after the checkpoint: nothing was compared"
        return _stage_findings("resume", "not_rehearsed", elapsed_s, uncompared)
    differs = bool(after.losses) and not whole.agrees(before)
    because = "two runs of this script from the beginning differ" if differs else redrawn
    return _stage_findings("resume", "pass", elapsed_s, f"{because}: no loss was compared" if because else None)


def _not_resumed(stop: PartResult | None) -> str:
    """Return why there was nothing to resume."""
    if stop is None or stop.code == STOPPED:
        return "there was no checkpoint to go on from"
    if stop.is_slow:
        return f"{stop.over} here, in the training that was to be stopped"
    if stop.code == 0:
        return "training was over before the step to stop in"
    return "the training that was to be stopped failed"


def warn_of_restarts(parts: Mapping[Part, PartResult]) -> Iterator[Objection]:
    """Yield the objections to a restart: state that the script itself, or an incomplete checkpoint, does not restore."""
    first, again = (parts[part].first("training") if part in parts else {} for part in ("stop", "resume"))
    before, after = (str(each.get("arguments", {}).get("output_dir", "")) for each in (first, again))
    if before and after and before != after and first.get("resumes"):
        because = f"each start writes to another folder ({before}, {after}): started again, the script finds no checkpoint of its own"
        yield Objection(code="resume-silently-ignored", message=because, stage="resume")
    if first.get("arguments", {}).get("save_only_model") and parts["whole"].happened(CheckpointSaved):
        because = "save_only_model=True leaves optimizer and schedule out of checkpoints: a resumed training starts them from scratch"
        yield Objection(code="checkpoint-incomplete", message=because, stage="resume")


def _wrong(whole: _Steps, before: _Steps, after: _Steps, *, can_differ: bool) -> Wrong | None:
    """Return the objection to the steps after a resume; None if they are right.

    Args:
        whole: The steps of a training that was not stopped.
        before: Those of the one that was stopped.
        after: Those after the resume.
        can_differ: Whether they are others though nothing is lost.
    """
    if after.losses and min(after.losses) <= max(before.losses, default=0):
        because = f"training began again at step {min(after.losses)} though step {max(before.losses)} was saved"
        return "resume-silently-ignored", because, {}
    common = sorted(whole.losses.keys() & after.losses.keys())
    if can_differ or not common or not whole.agrees(before) or whole.agrees(after):
        return None
    step = common[0]
    because = f"the loss of step {step} is {after.losses[step]:g} after the resume and {whole.losses[step]:g} without"
    return DIVERGES, because, {}


def _redrawn(whole: PartResult) -> str:
    """Return why the steps after a resume are others though nothing is lost; empty if they are not."""
    return "; ".join(because for about, because in REDRAWN.items() if whole.first(about))


def _steps(played: PartResult, number: int) -> _Steps:
    """Return the steps of one of a part's trainings, the first one being 0."""
    trainings = _trainings(played)[number : number + 1]
    return _Steps({step: loss for losses in trainings for step, loss in losses})


def _trainings(played: PartResult) -> list[list[tuple[int, float]]]:
    """Return the steps of each training of a part, with their losses; a step without one is left out."""
    found: list[list[tuple[int, float]]] = []
    for event in played.events:
        if isinstance(event, TrainingStarted):
            found.append([])
        elif isinstance(event, StepDone) and event.loss is not None and found:
            found[-1].append((event.step or 0, event.loss))
    return found


def _close(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=SAME, abs_tol=SAME) or (isnan(one) and isnan(other))


def _stage_findings(
    name: StageName,
    status: Status,
    elapsed_s: float,
    because: str | None = None,
    *,
    failed: PartResult | None = None,
    wrong: Wrong | None = None,
) -> StageFindings:
    return StageFindings(StageResult(name=name, status=status, elapsed_s=elapsed_s, because=because), failed, wrong)
