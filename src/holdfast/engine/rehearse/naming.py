"""The cause of a failed part, as one of the classes of failure: from its log, else from where it was."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import dropwhile
from typing import Any, Final

from holdfast.core.diagnose.diagnosis import HEALTHY, NOT_IN_LOG, Cause, Diagnosis, Evidence, Signature
from holdfast.core.diagnose.log import Frame
from holdfast.core.rehearse.rehearsal import PartResult, StageName
from holdfast.core.run.training_event import TrainingEnded
from holdfast.engine.diagnose.hangs import find_hang
from holdfast.engine.rehearse.circumstances import MISSING_KEY
from holdfast.signatures import all_signatures

SURE: Final = 0.5
"""Confidence from which a log's answer is taken."""
CODE: Final = "user-code-error"
NO_NETWORK: Final = "no-network-on-node"
PRINTED: Final = {"stdout.log": 2, "stderr.log": 1}
"""How many of the last lines of what a script printed are shown where it ended itself."""
TWO_STOPS: Final = re.compile(r"(?<!\.)\.\.(?!\.)")
"""What a library's sentence with its full stop leaves at the end of ours."""
FRAME: Final = re.compile(r'File "([^"]+)", line (\d+)(?:, in (\S+))?')
CALLED: Final = re.compile(r"\b(\w+)\(\) (?:got|takes|missing) ")
"""The method that refuses how it was called."""
UNKNOWN_ARGUMENT: Final = re.compile(r"^TypeError: \S+ got an unexpected keyword argument")
ASKING: Final = ("__getattr__", "__getattribute__")
"""Functions that raise for the line that asks for what there is not."""
NO_DATA: Final = "FileNotFoundError: no such data: "
"""What the script of a job file says of a file of rows that is not there."""
REWARD: Final = "grpo-reward-function-error"
OWN_FILES: Final = (
    ("output-path-not-writable", "FileExistsError", ""),
    ("checkpoint-not-found", "FileNotFoundError", "save"),
)
"""Classes, errors and stages (empty: any) of files that the script handles itself: made twice, gone already."""
GENERIC: Final = (CODE, REWARD)
"""Classes that say little without the exception itself."""
HARMLESS: Final = (HEALTHY, NOT_IN_LOG)
NO_GPU: Final = ("no-gpu-visible", "bnb-native-lib-missing", "driver-too-old")
"""What libraries warn of where no GPU is, whatever a script then fails for."""
GPU: Final = re.compile(r"cuda|gpu|nvidia|bf16|tf32|bitsandbytes|bnb|driver", re.IGNORECASE)
EARLY: Final[tuple[StageName, ...]] = ("import", "data", "model", "tokenize")
LATE: Final[tuple[StageName, ...]] = ("save", "push", "export")
OURS: Final = re.compile(r"(?<![\w.])/\S*?/(?:whole|stop|resume)/written(?=/)")
"""Before a path of the script's own: it has written there, and reads it where that lies in the rehearsal's folder."""


def cause_of(diagnosis: Diagnosis, played: PartResult, stage: StageName) -> Cause:
    """Return why a part failed.

    Args:
        diagnosis: What its logs say.
        played: The part.
        stage: The stage that it failed in.
    """
    if played.over:
        return _limit_cause(played, stage)
    sure = [cause for cause in diagnosis.causes if cause.confidence >= SURE and _can_be(cause.signature.name, stage)]
    if not GPU.search(because_of(played)):
        sure = [cause for cause in sure if cause.signature.name not in NO_GPU]
    if sure:
        return _sharper(sure[0], played, stage)
    because = OURS.sub("", because_of(played))
    cause = name_cause(CODE, because, {})
    return replace(cause, evidence=tuple(_last_lines(played))) if played.exited else cause


def _last_lines(played: PartResult) -> Iterator[Evidence]:
    """Yield the lines that a script printed last, which may tell why it left."""
    for name, number in PRINTED.items():
        lines = [(n, line) for n, line in enumerate(played.logs.get(name, "").splitlines(), start=1) if line.strip()]
        yield from (Evidence(path=name, line=at, text=line.strip()) for at, line in lines[-number:])


def _sharper(cause: Cause, played: PartResult, stage: StageName) -> Cause:
    """Return a more precise cause than the log's, where the rehearsal knows one."""
    better = next(_better(cause.signature.name, played, stage), None)
    return name_cause(*better, {}) if better else _with_whole_message(cause, because_of(played))


def _with_whole_message(cause: Cause, because: str) -> Cause:
    """Return a cause with the exception, where it says neither that nor anything else of its own."""
    if cause.signature.name not in GENERIC or len(split_sentences(cause.cause)) > 1:
        return cause
    first = OURS.sub("", because).strip().partition("\n")[0]
    return replace(cause, cause=f"{cause.cause} {first.rstrip('.')}.")


def _better(name: str, played: PartResult, stage: StageName) -> Iterator[tuple[str, str]]:
    """Yield class and cause where a log alone misleads: which columns there were, whose line raised, what was written before."""
    because = because_of(played)
    yield from _file_causes(name, because, stage)
    if missing := MISSING_KEY.fullmatch(because):
        yield from _column_causes(name, missing[1], played, stage)
    yield from _training_causes(name, because, played)
    if name == "framework-version-incompatible":
        yield from _release_causes(because, played)


def _training_causes(name: str, because: str, played: PartResult) -> Iterator[tuple[str, str]]:
    """Yield class and cause of a training that the script's own code changes."""
    if name == "custom-trainer-signature" and _is_own_line(played) and not _passes_to_own_method(played):
        yield CODE, because
    if name == "gradient-checkpointing-no-grad-input" and _keeps_states(played):
        message = f"{because}; nothing is checkpointed, so nothing is trained that the loss depends on: it is frozen, or cut off by `detach`"
        yield "no-trainable-parameters", message


def _release_causes(because: str, played: PartResult) -> Iterator[tuple[str, str]]:
    """Yield class and cause of what an installed release does not have, where the script's own line asks for it."""
    own = _is_own_line(played)
    if own and UNKNOWN_ARGUMENT.search(because):
        yield "third-party-arg-unknown", because
    if not because.startswith("AttributeError"):
        return
    if own:
        yield "import-api-removed", because
    elif _is_read_by_own_line(played):
        yield CODE, because


def _file_causes(name: str, because: str, stage: StageName) -> Iterator[tuple[str, str]]:
    """Yield class and cause of a file that is not there, or is there already."""
    if because.startswith(NO_DATA):
        yield "dataset-not-found", because
    if name == "model-path-not-local" and OURS.search(because):
        yield "model-files-missing", OURS.sub("", because)
    error = because.partition(":")[0]
    if {(name, error, stage), (name, error, "")} & set(OWN_FILES):
        yield CODE, OURS.sub("", because)


def _column_causes(name: str, column: str, played: PartResult, stage: StageName) -> Iterator[tuple[str, str]]:
    """Yield class and cause of a key that something does not have, where it may be a column."""
    if name == "dataset-missing-column" and stage == "step" and column in _dropped(played):
        message = f"the column `{column}` is in the data; `remove_unused_columns` took it away before the collator"
        yield "dataset-columns-dropped", message
    if reader := _reader_in_vain(name, column, played, stage):
        yield "dataset-missing-column", f"the rows have no column `{column}`, and {reader} asks for it"
    if name == "labels-missing" and _is_own_line(played):
        yield CODE, because_of(played)


def _reader_in_vain(name: str, column: str, played: PartResult, stage: StageName) -> str:
    """Return the reader of a column that the rows do not have, by the class of the failure; empty if it is not known."""
    if not _is_not_given(column, played, stage):
        return ""
    if name == "dataset-columns-dropped":
        return "the collator"
    return "a reward function" if name == REWARD and _reads_column(column, played) else ""


def _dropped(played: PartResult) -> set[str]:
    """Return the columns that trainers may have taken away as unused."""
    kept = (each for each in played.facts("training") if each["arguments"].get("remove_unused_columns"))
    return {name for each in kept for name in each.get("columns") or ()}


def _is_not_given(name: str, played: PartResult, stage: StageName) -> bool:
    """True if a trainer was given rows for a stage that have no such column: for an evaluation those of its own."""
    within = ([each["stage"] for each in played.reported("failed")] or [stage])[-1]
    columns = played.first("training").get("eval_columns" if within == "evaluate" else "columns")
    return isinstance(columns, list) and name not in columns


def _keeps_states(played: PartResult) -> bool:
    """True if it is known of each training that it checkpoints no activations; a loop has no arguments that say so."""
    trainings = played.facts("trains")
    return not any(each["checkpointing"] for each in trainings) if trainings else not played.facts("checkpoints")


def _reads_column(name: str, played: PartResult) -> bool:
    """True if a line asks for a key of what a reward function is given by name: the columns."""
    return bool(re.search(rf"\bkwargs\[['\"]{re.escape(name)}['\"]\]", played.logs.get("stderr.log", "")))


def _is_own_line(played: PartResult) -> bool:
    """True if a line of the script itself raised, and nothing that it called."""
    frames = FRAME.findall(played.logs.get("stderr.log", ""))
    return bool(frames) and ":".join(frames[-1][:2]) == played.end.where


def is_raised_in_library(played: PartResult) -> bool:
    """True if a library raised, whatever code of the user's called it."""
    frames = FRAME.findall(played.logs.get("stderr.log", ""))
    return bool(frames) and Frame(frames[-1][0], int(frames[-1][1]), frames[-1][2]).is_library


def _is_read_by_own_line(played: PartResult) -> bool:
    """True if a line of the script itself reads an attribute that an object does not have."""
    frames = FRAME.findall(played.logs.get("stderr.log", ""))
    before = list(dropwhile(lambda frame: frame[2] in ASKING, reversed(frames)))
    return len(before) < len(frames) and bool(before) and ":".join(before[0][:2]) == played.end.where


def _passes_to_own_method(played: PartResult) -> bool:
    """True if the script's own line that raised stands in a method of the same name as the one that it called."""
    frames = FRAME.findall(played.logs.get("stderr.log", ""))
    called = CALLED.search(because_of(played))
    return bool(frames) and called is not None and called[1] == frames[-1][2]


def _can_be(name: str, stage: StageName) -> bool:
    """True if a class of failure can be why a part failed at a stage: none is harmless, rows are read before, rewards later."""
    too_late = stage in LATE and name.startswith("dataset-")
    too_early = stage in EARLY and name == REWARD
    return name not in HARMLESS and not (too_late or too_early)


def because_of(played: PartResult) -> str:
    """Return the reason for failure that a part reported last."""
    over = (event for event in played.happened(TrainingEnded) if event.status != "finished")
    ends = [event.because for event in over if event.because]
    failures = [str(each["error"]) for each in played.reported("failed")]
    lines = [line for line in played.logs.get("stderr.log", "").splitlines() if line.strip()]
    code = f"it ended with exit code {played.code}"
    return next(iter([*reversed(ends), *reversed(failures), *reversed(lines), code]))


def name_cause(name: str, because: str, evidence: Mapping[str, Any], *, fix: str = "") -> Cause:
    """Return the cause of a class that is known by its name, with its own fix or the class's.

    Raises:
        KeyError: There is no such class.
    """
    signature = signature_of(name)
    shown = ", ".join(f"{key}: {value}" for key, value in evidence.items())
    lines = (Evidence(path="the rehearsal", line=0, text=shown),) if shown else ()
    return Cause(
        signature=signature,
        confidence=0.9,
        evidence=lines,
        cause=because if because.endswith("?") else f"{because.rstrip('.')}.",
        fix=fix or general_advice(signature),
    )


def signature_of(name: str) -> Signature:
    """Return the class of a name.

    Raises:
        KeyError: There is no such class.
    """
    return _signatures()[name]


@cache
def _signatures() -> Mapping[str, Signature]:
    """Return all classes of failure by name."""
    return {each.name: each for each in all_signatures()}


def _limit_cause(played: PartResult, stage: StageName) -> Cause:
    """Return why a part did not come to its end, by where it waited."""
    if hang := find_hang(played.stacks):
        return name_cause(hang.name, f"{played.over}; it was in `{hang.function}` then", {"stage": stage})
    return name_cause(CODE, f"{played.over}; it was at the stage `{stage}`", {})


def general_advice(signature: Signature) -> str:
    """Return a class's advice without the sentences that need values of a log."""
    return " ".join(sentence for sentence in split_sentences(signature.fix) if "{" not in sentence)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a class's page, each with its full stop."""
    return [part if part.endswith(".") else f"{part}." for part in TWO_STOPS.sub(".", text).strip().split(". ") if part]
