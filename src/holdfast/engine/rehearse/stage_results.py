"""What became of each stage of the whole path: it passed, it failed, or nothing of it was gone through, and why."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from holdfast.core.rehearse.rehearsal import STAGES, Failure, PartResult, ProcessEvent, StageName, StageResult
from holdfast.core.run.event import EndReason
from holdfast.core.run.training_event import StepDone, TrainingEnded, TrainingStarted

AGAIN: Final[Mapping[StageName, str]] = {"stop": "stopped", "resume": "resumed"}
"""What is done to a job in a process of its own."""
IN_TRAINING: Final = (EndReason.DATA_EXHAUSTED, EndReason.LEFT_TRAINING)
"""Reasons for which a training ends early without an exception."""
UNSEEN: Final[Mapping[StageName, str]] = {
    "import": "the script was not started",
    "data": "the script loads no data that is known here",
    "model": "the script loads no model by transformers",
    "tokenize": "the script loads no tokenizer",
    "step": "the script trains without a Trainer of transformers, or not at all",
    "evaluate": "the script does not evaluate",
    "save": "the script saves nothing",
    "stop": "there was no training to stop",
    "resume": "there was no checkpoint to go on from",
    "push": "the script pushes nothing",
    "export": "nothing was saved that could be exported",
}
IN_LOOP: Final[Mapping[StageName, str]] = {
    "evaluate": "the loop evaluates as part of `step`",
    "stop": "a training loop without a Trainer is not stopped in a rehearsal",
    "resume": "a training loop without a Trainer is not resumed in a rehearsal",
}
"""Why stages of a script with a loop of its own were not gone through; the first holds only where the loop evaluates."""


def stage_result(
    stage: StageName, whole: PartResult, failures: Sequence[Failure], imports_s: float = 0.0, left_off: str = ""
) -> StageResult:
    """Return the result of a stage.

    Args:
        stage: The stage.
        whole: What the process left that went the whole path.
        failures: All failures.
        imports_s: Time that the libraries took before the first fork.
        left_off: Why the rehearsal did not go on; empty if it did.
    """
    stretches = [each["elapsed_s"] for each in whole.reported("stage") if each["name"] == stage]
    elapsed_s = sum(stretches) + (imports_s if stage == "import" else 0.0)
    failure = next((each for each in failures if each.stage == stage), None)
    if failure is not None:
        return StageResult(name=stage, status="fail", elapsed_s=elapsed_s, because=failure.cause.cause)
    ended = left_off and failed_stage(whole) == stage
    if stretches and not ended and _worked(stage, whole):
        return StageResult(name=stage, status="pass", elapsed_s=elapsed_s)
    because = _skip_reason(stage, whole, failures, left_off)
    return StageResult(name=stage, status="not_rehearsed", because=because, missed=bool(left_off))


def _skip_reason(stage: StageName, whole: PartResult, failures: Sequence[Failure], left_off: str) -> str:
    """Return why nothing of a stage was gone through."""
    raised = [each for each in failures if each.part == "whole"]
    if raised and (comes_before(raised[0].stage, stage) or not whole.facts("trains")):
        return f"the script failed at `{raised[0].stage}`"
    if raised and whole.facts("trains") and not whole.happened(StepDone) and not comes_before(stage, "step"):
        return f"the script failed at `{raised[0].stage}`, before its first step"
    if left_off:
        return where_left(whole, left_off)
    return _unseen(stage, whole, failures)


def _unseen(stage: StageName, whole: PartResult, failures: Sequence[Failure]) -> str:
    """Return why a script that ended went through nothing of a stage."""
    if stage == "evaluate" and _may_evaluate(whole):
        return '`eval_strategy` is "no", so nothing is evaluated on the `eval_dataset`'
    if loops := whole.facts("loop"):
        return _unseen_in_loop(stage, evaluates=loops[-1]["evaluates"])
    if stage in AGAIN and _has_failed_in_training(whole, failures):
        return f"`step` failed, and a training that fails is not {AGAIN[stage]}"
    return UNSEEN[stage]


def _may_evaluate(whole: PartResult) -> bool:
    """True if a trainer has rows to evaluate."""
    return any(each.get("may_evaluate") for each in whole.facts("training"))


def _has_failed_in_training(whole: PartResult, failures: Sequence[Failure]) -> bool:
    return bool(whole.happened(TrainingStarted)) and any(each.stage == "step" for each in failures)


def _unseen_in_loop(stage: StageName, *, evaluates: bool) -> str:
    """Return why a script with a loop of its own went through nothing of a stage."""
    if stage == "evaluate" and not evaluates:
        return UNSEEN[stage]
    return IN_LOOP.get(stage, UNSEEN[stage])


def where_left(whole: PartResult, because: str) -> str:
    """Return where a rehearsal ended that did not go on to the end, and why."""
    return f"the rehearsal ended at `{failed_stage(whole)}`: {because}"


def _worked(stage: StageName, whole: PartResult) -> bool:
    """Whether there was anything to do in a stage that every script comes to, as far as it is one; two have parts of their own."""
    if stage in ("stop", "resume"):
        return False
    if stage == "step":  # a loop of the script's own reports no step; a trainer may be refused before its first
        return bool(whole.happened(StepDone)) or not whole.facts("trains")
    if stage == "push":
        return bool(whole.facts("push"))
    return stage != "export" or any(each["folders"] for each in whole.facts("saved"))


def comes_before(one: StageName, other: StageName) -> bool:
    """True if a job comes to a stage before another one."""
    return STAGES.index(one) < STAGES.index(other)


def failed_stage(played: PartResult) -> StageName:
    """Return the stage that a part ended in: the one that its last exception left, else the one that it was in."""
    if failures := raised_failures(played):
        return cast(StageName, failures[-1]["stage"])
    if played.end.reason in IN_TRAINING:
        return "step"
    ended = played.reported("script_ended") or played.reported("enter") or played.reported("stage")
    last = ended[-1] if ended else {"stage": "import"}
    return cast(StageName, last.get("stage", last.get("name", "import")))


def raised_failures(played: PartResult) -> list[ProcessEvent]:
    """Return the stage failures with the exception that ended the script."""
    ends = played.happened(TrainingEnded)
    return [each for each in played.reported("failed") if not ends or _same(each["error"], ends[0].because or "")]


def _same(error: str, because: str) -> bool:
    return error[:200] == because[:200]
