"""What became of each stage, from what the processes of a rehearsal left.

A stage passes only where something of it was gone through and nothing of it failed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from holdfast.core.diagnosis import Cause
from holdfast.core.event import EndReason
from holdfast.core.rehearsal import (
    STAGES,
    Failure,
    Objection,
    Omitted,
    Part,
    PartResult,
    ProcessEvent,
    Rehearsal,
    Shrunk,
    StageName,
    StageResult,
)
from holdfast.core.training_event import StepDone, TrainingEnded, TrainingStarted
from holdfast.engine.rehearse.caught import caught_at_last, left_before_training
from holdfast.engine.rehearse.continuing import DIVERGES, StageFindings, judge_resume, judge_stop, warn_of_restarts
from holdfast.engine.rehearse.naming import (
    CODE,
    NO_NETWORK,
    because_of,
    name_cause,
)
from holdfast.engine.rehearse.objecting import BAD_ROWS, objected, warns, with_objection
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
RESUMED_STAGE: Final[StageName] = "resume"
AGAIN: Final[Mapping[StageName, str]] = {"stop": "stopped", "resume": "resumed"}
"""What is done to a job in a process of its own."""
RESUMED: Final = "checkpoint-not-found"
"""What is raised amid `train`, before its first step."""
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

GUESSED: Final[Mapping[str, tuple[str, ...]]] = {
    "no-trainable-parameters": ("weights-not-updated",),
    BAD_ROWS: ("user-code-error",),
}
"""What a failure looks like, and what it is if that was reported: no parameter is trained, a function made the values."""
NO_GRADIENT: Final = ("no-trainable-parameters", "weights-not-updated")
"""What a loss without a gradient is if that was reported: a log cannot tell which parameters are trained, a rehearsal can."""
ZERO: Final = re.compile(r"^ZeroDivisionError: integer (?:division or )?modulo by zero")
LACKING: Final = re.compile(
    r"(?:FileNotFound|ModuleNotFound|DatasetNotFound|EmptyDataset|CalledProcess)Error\b|\b(?:No such file|Unable to find|"
    r"Couldn't find|Can't find|not a local folder|no file named)\b"
)
"""What is said where a file, a folder or a module is not there."""
NO_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
ELSEWHERE: Final = re.compile(r"['\" ]/(?:content|kaggle)/")
"""A path that only Colab or Kaggle has."""
MEMORY: Final = " of memory"
"""What is said of a limit other than one of time: a step takes as much of it as the real vocabulary and length make it take."""
UNSAVED: Final = "it differs because of the weights that are not saved, which is reported at `save`"
LEFT: Final = "the script ended its own process by `os._exit(0)` before it trained"
LEAVE: Final = "Remove the `os._exit`, or end the script by `sys.exit()` with a code that is not 0."
NO_INPUT: Final = "the script reads standard input, which a rehearsal does not have"


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
    left_off = _left_off(whole)
    raised = [] if left_off else list(_failure(whole, diagnose))
    if unreached and any(each.cause.signature.name == NO_NETWORK for each in raised):
        left_off, raised = unreached, []
    failures = _merged_failures(raised, list(_reported_failures(whole)))
    failures = [with_objection(each, whole, objections) for each in failures]
    failures += objected(objections, failures)
    results = {stage: _result(stage, whole, failures, imports_s, left_off) for stage in STAGES}
    if results["step"].status == "pass" and whole.happened(TrainingStarted):  # a loop of its own is not asked to stop
        for found in (
            judge_stop(parts),
            judge_resume(parts),
        ):  # in this order: a resume that fails as the stop did is no news
            unsaved = _leaves_weights_unsaved(whole)
            result, more = _again(found, parts, failures, diagnose, left_off=left_off, unsaved=unsaved)
            failures += more
            if results[result.name].status != "fail":  # a failure of the whole path may be about this stage
                results[result.name] = result
    return Rehearsal(
        stages=tuple(results[stage] for stage in STAGES),
        failures=tuple(failures),
        warnings=(*filter(warns, objections), *_warnings(whole), *warn_of_restarts(parts)),
        omitted=tuple(Omitted(what=each["what"], because=each["because"]) for each in whole.reported("not_rehearsed")),
        shrunk=tuple(
            Shrunk(what=each["what"], asked=each["asked"], given=each["given"]) for each in whole.reported("shrunk")
        ),
        facts=tuple(whole.reported("fact")),
        versions=_versions(whole),
    )


def _leaves_weights_unsaved(whole: PartResult) -> bool:
    """True if it was reported that checkpoints leave out weights that are trained, so that a resume has to differ."""
    return any("unsaved" in each["evidence"] for each in whole.reported("fault"))


def _again(
    findings: StageFindings,
    parts: Mapping[Part, PartResult],
    failures: Sequence[Failure],
    diagnose: Diagnose,
    *,
    left_off: str,
    unsaved: bool,
) -> tuple[StageResult, list[Failure]]:
    """Return the result of stopping or of resuming, and its own failure, if there is one that is not known already."""
    if unsaved and findings.wrong and findings.wrong[0] == DIVERGES:
        return replace(findings.result, status="not_rehearsed", because=UNSAVED), []
    result = _blocked_stage(findings.result, parts, failures, left_off)
    result = replace(result, missed=result.status == "not_rehearsed")
    if findings.failed is not None:
        cause = diagnose(findings.failed, result.name)
        if same := _same_failure(cause, failures):
            return replace(findings.result, status="not_rehearsed", because=f"it failed as at `{same.stage}`"), []
        return result, [Failure(stage=result.name, cause=cause, part=findings.failed.part, over=findings.failed.over)]
    return result, [Failure(stage=result.name, cause=name_cause(*findings.wrong))] if findings.wrong else []


def _blocked_stage(
    result: StageResult, parts: Mapping[Part, PartResult], failures: Sequence[Failure], left_off: str
) -> StageResult:
    """Return the result of a stage; where no process was started for it, what prevented one is the reason."""
    raised = next((each for each in failures if each.part == "whole"), None)
    if result.name in parts or result.status != "not_rehearsed":
        return result
    if left_off:
        return replace(result, because=_where_left(parts["whole"], left_off))
    if raised is None:
        return result
    if _before(result.name, raised.stage):
        because = (
            f"a job is {AGAIN[result.name]} only where it comes to its end, and the script failed at `{raised.stage}`"
        )
        return replace(result, because=because)
    return replace(result, because=f"the script failed at `{raised.stage}`")


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
    return Rehearsal(stages=tuple(_result(stage, nothing, [failure]) for stage in STAGES), failures=(failure,))


def _failure(whole: PartResult, diagnose: Diagnose) -> Iterator[Failure]:
    """Yield the failure that stopped the script, if one did."""
    caught = caught_at_last(whole)
    if whole.code == 0 and not whole.over and not caught:
        if left_before_training(whole):
            yield Failure(stage=failed_stage(whole), cause=name_cause(CODE, LEFT, {}, fix=LEAVE), part=whole.part)
        return
    stage = cast(StageName, caught["stage"]) if caught else failed_stage(whole)
    cause = diagnose(whole, stage)
    stage = _stage_of_class(cause.signature.name, stage, own=not _raised(whole))
    where = whole.end.where or ""
    yield Failure(stage=_happened_in(stage, whole), cause=cause, part=whole.part, where=where, over=whole.over)


def _happened_in(stage: StageName, whole: PartResult) -> StageName:
    """Return the stage of a failure; where a script fails after its training and has pushed nothing, the one that it went through last."""
    entered: list[StageName] = [cast(StageName, each["name"]) for each in whole.reported("enter")]
    if stage == "push" and entered and stage not in entered:
        return entered[-1]
    return stage


def _left_off(whole: PartResult) -> str:
    """Return why a rehearsal did not go on where the job would: it was slow here, or went where no rehearsal goes; else nothing."""
    because = whole.end.because or ""
    if whole.is_slow:
        return f"{whole.over} here, but made progress"
    if whole.over.endswith(MEMORY) and failed_stage(whole) == "step":
        return f"{whole.over} here; whether it fits on the job's machine is shown by `holdfast plan`"
    if whole.facts("stdin") and not whole.happened(StepDone):
        return NO_INPUT
    out_of_reach = any(each["because"] in because for each in whole.reported("out_of_reach"))
    return because if out_of_reach else _too_few(whole) or _unmade(whole)


def _too_few(whole: PartResult) -> str:
    """Return that a whole number came out as 0, by which the script divides: mostly of its few rows; else nothing."""
    because = because_of(whole)
    few = any(each.get("unit") == "rows" for each in whole.reported("shrunk"))
    return f"{because}: with so few rows a number of steps or batches is 0" if few and ZERO.search(because) else ""


def _unmade(whole: PartResult) -> str:
    """Return why something is not there: a program that was not run, or was kept from the network, may make it; else nothing."""
    because = because_of(whole)
    if whole.over or not LACKING.search(because):
        return ""
    if ELSEWHERE.search(because):
        return f"{because[:200]}: the host of a notebook may have it"
    module = NO_MODULE.match(because)
    elsewhere = {each.lower() for each in whole.first("elsewhere").get("modules", ())}
    if module and module[1].lower() in elsewhere:
        return f"`{module[1]}` is declared, and this environment, which is used in place of the declared one, lacks it"
    commands = [f"`{each['command']}` was not run" for each in whole.facts("not_run")]
    refused = [f"no {each['what']}" for each in whole.reported("not_rehearsed") if "host" in each]
    makers = [*commands, *refused]
    return f"{because[:200]}: {makers[-1]}, which may make it" if makers else ""


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


def failed_stage(played: PartResult) -> StageName:
    """Return the stage that a part ended in: the one that its last exception left, else the one that it was in."""
    if failures := _raised(played):
        return cast(StageName, failures[-1]["stage"])
    if played.end.reason in IN_TRAINING:
        return "step"
    ended = played.reported("script_ended") or played.reported("enter") or played.reported("stage")
    last = ended[-1] if ended else {"stage": "import"}
    return cast(StageName, last.get("stage", last.get("name", "import")))


def _raised(played: PartResult) -> list[ProcessEvent]:
    """Return the stage failures with the exception that ended the script."""
    ends = played.happened(TrainingEnded)
    return [each for each in played.reported("failed") if not ends or _same(each["error"], ends[0].because or "")]


def _same(error: str, because: str) -> bool:
    return error[:200] == because[:200]


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


def _result(
    stage: StageName, whole: PartResult, failures: Sequence[Failure], imports_s: float = 0.0, left_off: str = ""
) -> StageResult:
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
    if raised and (_before(raised[0].stage, stage) or not whole.facts("trains")):
        return f"the script failed at `{raised[0].stage}`"
    if raised and raised[0].stage == RESUMED_STAGE and whole.facts("trains") and not whole.happened(StepDone):
        return "the script failed at `resume`, before its first step"
    if left_off:
        return _where_left(whole, left_off)
    return _unseen(stage, whole, failures)


def _unseen(stage: StageName, whole: PartResult, failures: Sequence[Failure]) -> str:
    """Return why a script that ended went through nothing of a stage."""
    if stage == "evaluate" and any(each.get("may_evaluate") for each in whole.facts("training")):
        return '`eval_strategy` is "no", so nothing is evaluated on the `eval_dataset`'
    if loops := whole.facts("loop"):
        return IN_LOOP[stage] if stage in IN_LOOP and (stage != "evaluate" or loops[-1]["evaluates"]) else UNSEEN[stage]
    if stage in AGAIN and whole.happened(TrainingStarted) and any(each.stage == "step" for each in failures):
        return f"`step` failed, and a training that fails is not {AGAIN[stage]}"
    return UNSEEN[stage]


def _where_left(whole: PartResult, because: str) -> str:
    """Return where a rehearsal ended that did not go on to the end, and why."""
    return f"the rehearsal ended at `{failed_stage(whole)}`: {because}"


def _worked(stage: StageName, whole: PartResult) -> bool:
    """Whether there was anything to do in a stage that every script comes to, as far as it is one; two have parts of their own."""
    if stage in ("stop", "resume"):
        return False
    if stage == "step":  # of a loop of the script's own nobody hears a step; a trainer may be refused before its first
        return bool(whole.happened(StepDone)) or not whole.facts("trains")
    if stage == "push":
        return bool(whole.facts("push"))
    return stage != "export" or any(each["folders"] for each in whole.facts("saved"))


def _before(one: StageName, other: StageName) -> bool:
    return STAGES.index(one) < STAGES.index(other)


def _versions(whole: PartResult) -> Mapping[str, str]:
    return {name: version for each in whole.happened(TrainingStarted) for name, version in each.versions.items()}
