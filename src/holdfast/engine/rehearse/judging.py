"""What became of each stage, from what the processes of a rehearsal left.

A stage passes only where something of it was gone through and nothing of it failed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from holdfast.core.diagnose.diagnosis import Cause
from holdfast.core.rehearse.rehearsal import (
    STAGES,
    Failure,
    Objection,
    Omitted,
    Part,
    PartResult,
    Rehearsal,
    Shrunk,
    StageName,
    StageResult,
)
from holdfast.core.run.training_event import TrainingStarted
from holdfast.engine.rehearse.caught import caught_at_last, left_before_training
from holdfast.engine.rehearse.continuing import DIVERGES, StageFindings, judge_resume, judge_stop, warn_of_restarts
from holdfast.engine.rehearse.left_off import left_off_because
from holdfast.engine.rehearse.naming import (
    CODE,
    NO_NETWORK,
    name_cause,
)
from holdfast.engine.rehearse.objecting import BAD_ROWS, objected, warns, with_objection
from holdfast.engine.rehearse.stage_results import (
    AGAIN,
    comes_before,
    failed_stage,
    raised_failures,
    stage_result,
    where_left,
)
from holdfast.engine.rehearse.tracebacks import spell_place

Diagnose = Callable[[PartResult, StageName], Cause]
"""Says why a part failed at a stage."""

ABOUT: Final[Mapping[str, StageName]] = {
    "train-dataset-wrong-type": "data",
    "dataset-empty": "data",
    "dataset-missing-column": "tokenize",
    "dataset-bad-row-values": "tokenize",
    "special-token-not-in-vocab": "tokenize",
    "chat-template-missing": "tokenize",
    "chat-template-invalid": "tokenize",
    "chat-template-no-generation-markers": "tokenize",
    "pad-token-missing": "tokenize",
}
"""What a failure is about that is raised while a trainer is made, where rows, tokenizer and settings come together."""
OWN: Final[Mapping[str, StageName]] = {"missing-module": "import", "import-api-removed": "import"}
"""What a failure of the script's own lines is about, wherever they stand."""
EARLY: Final = ("data", "model", "tokenize")
"""Stages after which it matters more how late it failed."""
RESUMED: Final = "checkpoint-not-found"
"""What is raised amid `train`, before its first step."""

GUESSED: Final[Mapping[str, tuple[str, ...]]] = {
    "no-trainable-parameters": ("weights-not-updated",),
    BAD_ROWS: ("user-code-error",),
}
"""What a failure looks like, and what it is if that was reported: no parameter is trained, a function made the values."""
NO_GRADIENT: Final = ("no-trainable-parameters", "weights-not-updated")
"""What a loss without a gradient is if that was reported: a log cannot tell which parameters are trained, a rehearsal can."""
UNSAVED: Final = "it differs because of the weights that are not saved, which is reported at `save`"
LEFT: Final = "the script ended its own process by `os._exit(0)` before it trained"
LEAVE: Final = "Remove the `os._exit`, or end the script by `sys.exit()` with a code that is not 0."


def judge(
    parts: Mapping[Part, PartResult],
    objections: Sequence[Objection],
    diagnose: Diagnose,
    *,
    imports_s: float = 0.0,
    unreached: str = "",
) -> Rehearsal:
    """Return the verdict on a rehearsal.

    Args:
        parts: What each process left; `whole` is there always.
        objections: What the rules say of what the script gave its trainer.
        diagnose: Says why a part failed.
        imports_s: Time that the libraries took before the first fork.
        unreached: Why a Hub that this machine does not reach is no failure of the job; empty if it is one.
    """
    whole = parts["whole"]
    left_off, raised = _end_of_whole(whole, diagnose, unreached)
    failures = _merged_failures(raised, list(_reported_failures(whole)))
    failures = [with_objection(each, whole, objections) for each in failures]
    failures += objected(objections, failures)
    results = {stage: stage_result(stage, whole, failures, imports_s, left_off) for stage in STAGES}
    for result, more in _Continuations(parts, diagnose, left_off).results(results["step"], failures):
        failures += more
        if results[result.name].status != "fail":  # a failure of the whole path may be about this stage
            results[result.name] = result
    return Rehearsal(
        stages=tuple(results.values()),
        failures=tuple(failures),
        warnings=(*filter(warns, objections), *_warnings(whole), *warn_of_restarts(parts)),
        omitted=tuple(_omitted(whole)),
        shrunk=tuple(_shrunk(whole)),
        facts=tuple(whole.reported("fact")),
        versions=_versions(whole),
    )


def _end_of_whole(whole: PartResult, diagnose: Diagnose, unreached: str) -> tuple[str, list[Failure]]:
    """Return why a rehearsal did not go on where the job would, or else the failure that stopped the script, if one did."""
    if because := left_off_because(whole):
        return because, []
    raised = list(_failure(whole, diagnose))
    if unreached and any(each.cause.signature.name == NO_NETWORK for each in raised):
        return unreached, []
    return "", raised


@dataclass(frozen=True, slots=True)
class _Continuations:
    """The stages in which a training is stopped and resumed: judged in this order, because a resume that fails as the stop did has no failure of its own.

    Attributes:
        parts: What each process left.
        diagnose: Says why a part failed.
        left_off: Why the rehearsal did not go on where the job would; empty if it did.
    """

    parts: Mapping[Part, PartResult]
    diagnose: Diagnose
    left_off: str

    def results(self, step: StageResult, failures: Sequence[Failure]) -> Iterator[tuple[StageResult, list[Failure]]]:
        """Yield the result of each, with its own failures.

        There is none of a training that took no step, nor of a loop of the script's own, which is not stopped.
        """
        if step.status != "pass" or not self.parts["whole"].happened(TrainingStarted):
            return
        known = list(failures)
        for findings in (judge_stop(self.parts), judge_resume(self.parts)):
            result, more = self._judged(findings, known)
            known += more
            yield result, more

    def _judged(self, findings: StageFindings, failures: Sequence[Failure]) -> tuple[StageResult, list[Failure]]:
        """Return the result of a stage, and its own failure, if there is one that is not known already."""
        if findings.wrong and findings.wrong[0] == DIVERGES and _leaves_weights_unsaved(self.parts["whole"]):
            return replace(findings.result, status="not_rehearsed", because=UNSAVED), []
        result = self._blocked(findings.result, failures)
        result = replace(result, missed=result.status == "not_rehearsed")
        if findings.failed is not None:
            cause = self.diagnose(findings.failed, result.name)
            if same := _same_failure(cause, failures):
                return replace(findings.result, status="not_rehearsed", because=f"it failed as at `{same.stage}`"), []
            return result, [
                Failure(stage=result.name, cause=cause, part=findings.failed.part, over=findings.failed.over)
            ]
        return result, [Failure(stage=result.name, cause=name_cause(*findings.wrong))] if findings.wrong else []

    def _blocked(self, result: StageResult, failures: Sequence[Failure]) -> StageResult:
        """Return the result of a stage; where no process was started for it, what prevented one is the reason."""
        raised = next((each for each in failures if each.part == "whole"), None)
        if result.name in self.parts or result.status != "not_rehearsed":
            return result
        if self.left_off:
            return replace(result, because=where_left(self.parts["whole"], self.left_off))
        if raised is None:
            return result
        failed = f"the script failed at `{raised.stage}`"
        if comes_before(result.name, raised.stage):
            failed = f"a job is {AGAIN[result.name]} only where it comes to its end, and {failed}"
        return replace(result, because=failed)


def _leaves_weights_unsaved(whole: PartResult) -> bool:
    """True if it was reported that checkpoints leave out weights that are trained, so that a resume has to differ."""
    return any("unsaved" in each["evidence"] for each in whole.reported("fault"))


def _same_failure(cause: Cause, failures: Sequence[Failure]) -> Failure | None:
    """Return the failure of the same class, or of the one behind it, that is known already, or None."""
    names = _names(cause)
    return next((each for each in failures if each.cause.signature.name in names), None)


def _names(cause: Cause) -> tuple[str, ...]:
    """Return the class of a failure, and those that it may be if one of them was reported."""
    cut_off = any("does not require grad" in text for text in (cause.cause, *(line.text for line in cause.evidence)))
    return (cause.signature.name, *GUESSED.get(cause.signature.name, ()), *(NO_GRADIENT if cut_off else ()))


def judge_unstarted(cause: Cause) -> Rehearsal:
    """Return the verdict on a script that could not even be started."""
    failure, nothing = Failure(stage="import", cause=cause, part="whole"), PartResult(part="whole", code=None)
    return Rehearsal(stages=tuple(stage_result(stage, nothing, [failure]) for stage in STAGES), failures=(failure,))


def _failure(whole: PartResult, diagnose: Diagnose) -> Iterator[Failure]:
    """Yield the failure that stopped the script, if one did."""
    caught = caught_at_last(whole)
    if whole.code == 0 and not whole.over and not caught:
        if left_before_training(whole):
            yield Failure(stage=failed_stage(whole), cause=name_cause(CODE, LEFT, {}, fix=LEAVE), part=whole.part)
        return
    stage = cast(StageName, caught["stage"]) if caught else failed_stage(whole)
    cause = diagnose(whole, stage)
    stage = _stage_of_class(cause.signature.name, stage, own=not raised_failures(whole))
    where = whole.end.where or ""
    yield Failure(stage=_happened_in(stage, whole), cause=cause, part=whole.part, where=where, over=whole.over)


def _happened_in(stage: StageName, whole: PartResult) -> StageName:
    """Return the stage of a failure; where a script fails after its training and has pushed nothing, the one that it went through last."""
    entered: list[StageName] = [cast(StageName, each["name"]) for each in whole.reported("enter")]
    if stage == "push" and entered and stage not in entered:
        return entered[-1]
    return stage


def _stage_of_class(name: str, stage: StageName, *, own: bool) -> StageName:
    """Return the stage that a class of failure belongs to, where the one that it was raised in takes in others too.

    Args:
        name: The class.
        stage: Where it was raised.
        own: Whether lines of the script raised it, and no library that was at work on a stage.
    """
    if name == RESUMED:
        return "resume"
    if own and name in OWN and stage in EARLY:
        return OWN[name]
    if stage == "import" and name.startswith("dataset-"):
        return "data"
    return ABOUT.get(name, stage) if stage == "model" else stage


def _reported_failures(whole: PartResult) -> Iterator[Failure]:
    for each in whole.reported("fault"):
        cause = name_cause(each["class"], each["because"], each["evidence"], fix=each.get("fix", ""))
        where = spell_place(each["path"], each["line"]) if each.get("path") else ""
        yield Failure(stage=each["stage"], cause=cause, where=where)


def _merged_failures(raised: list[Failure], reported: list[Failure]) -> list[Failure]:
    """Return the raised and the reported failures; where two are the same, only the raised one, with the reported cause."""
    for number, failure in enumerate(raised):
        names = _names(failure.cause)
        same = next((each for each in reported if each.cause.signature.name in names), None)
        if same is not None:
            raised[number] = replace(failure, cause=same.cause)
            reported = [each for each in reported if each is not same]
    return [*raised, *reported]


def _warnings(whole: PartResult) -> Iterator[Objection]:
    for each in whole.reported("warning"):
        yield Objection(code=each["class"], message=each["because"], stage=each["stage"])


def _omitted(whole: PartResult) -> Iterator[Omitted]:
    for each in whole.reported("not_rehearsed"):
        yield Omitted(what=each["what"], because=each["because"])


def _shrunk(whole: PartResult) -> Iterator[Shrunk]:
    for each in whole.reported("shrunk"):
        yield Shrunk(what=each["what"], asked=each["asked"], given=each["given"])


def _versions(whole: PartResult) -> Mapping[str, str]:
    return {name: version for each in whole.happened(TrainingStarted) for name, version in each.versions.items()}
