"""A failed rehearsal as its user can act on it: their line, their function, the key of their job file, and the fix of this case."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from shlex import quote
from typing import Any, Final

from holdfast.core.diagnose.diagnosis import Cause, Evidence
from holdfast.core.diagnose.log import Traceback
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method
from holdfast.core.job.notebook import is_notebook
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.rehearse.rehearsal import Failure, Part, PartResult, Rehearsal
from holdfast.engine.rehearse.advising import ROWS, advise
from holdfast.engine.rehearse.circumstances import Circumstances
from holdfast.engine.rehearse.job_keys import find_job_key, place_of
from holdfast.engine.rehearse.keywords import find_argument, find_argument_in_words
from holdfast.engine.rehearse.labelling import find_labelling
from holdfast.engine.rehearse.naming import CODE, NO_NETWORK, OURS, because_of, general_advice, name_cause
from holdfast.engine.rehearse.returned import GIVEN, advise_returning, find_returning, find_rewarding
from holdfast.engine.rehearse.tracebacks import FRAME, Cells, FailingLine, find_failing_line

MARKS: Final = re.compile(r"[\s^~]+|\"+|(?:The above exception|During handling of the above|Traceback) .*")
"""A line that points into the one above it, or stands between two exceptions."""
ADAPTS: Final = re.compile(r"\bpeft_config\b|\bget_peft_model\b|\bPeftModel\b")
PARSES: Final = re.compile(r"\bparse_\w+\(")
"""A call that reads a command line, or a file of settings."""
FLAG: Final = re.compile(r"--[\w-]+")
TIME: Final = "longer than"
OVER: Final = "The script did not finish in its time, and showed no progress"
MORE_TIME: Final = "Allow more time with `--limit`; if it does not end then either, look what it waits for at `{}`."
SAID_BEFORE: Final = "what:"
UNKNOWN: Final = "The job fails for a reason that no class of failure knows"
MASKED: Final = "completion-mask-drops-everything"
LABELLED: Final = frozenset({MASKED, "labels-misaligned", "padding-in-loss"})
"""Classes of what is wrong with labels: where only one function sets any, that is the one."""
"""The class of a training without labels."""
CONFIG: Final = "config"
"""Phase of the classes that are about settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureContext:
    """What a rehearsal's failures are explained from.

    Attributes:
        target: What was rehearsed, as it was named.
        parts: What each process left.
        tracebacks: The exception that each process ended with, by part.
        sources: The texts of the user's own files, by path as the tracebacks spell it.
        own_modules: Modules that are not found and are the project's own, each with the folder that it is in.
        flags: The flags that a shell script starts the program with, each with its line.
        cells: Of a notebook, the first line of each cell in the program that they make, and its number.
        job: The job file; None of a script.
    """

    target: str
    parts: Mapping[Part, PartResult]
    tracebacks: Mapping[Part, Traceback] = field(default_factory=dict[Part, Traceback])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    own_modules: Mapping[str, str] = field(default_factory=dict[str, str])
    flags: Mapping[str, FailingLine] = field(default_factory=dict[str, FailingLine])
    cells: Cells = ()
    job: Document | None = None


def explain_failures(rehearsal: Rehearsal, context: FailureContext) -> Rehearsal:
    """Return a rehearsal whose failures name the user's own line, function and key, with the fix of each.

    A warning that foresaw a failure says why it came: with this job's own figures, which the exception does not have.
    """
    foreseen = {each.code: each.message for each in rehearsal.warnings}
    failures = [_explained(each, context) for each in rehearsal.failures]
    failures = [_as_foreseen(each, foreseen.get(each.cause.signature.name, "")) for each in failures]
    named = {each.cause.signature.name for each in failures}
    warnings = tuple(each for each in rehearsal.warnings if each.code not in named)
    return replace(rehearsal, failures=tuple(failures), warnings=warnings)


def _as_foreseen(failure: Failure, because: str) -> Failure:
    return replace(failure, cause=replace(failure.cause, cause=because)) if because else failure


def _explained(failure: Failure, context: FailureContext) -> Failure:
    if failure.part is None or failure.over:
        return _explained_without_exception(_placed(failure, context, "", _reported_line(failure, context)), context)
    played, traceback = context.parts[failure.part], context.tracebacks.get(failure.part)
    line = find_failing_line(traceback, context.sources, context.cells) if traceback else None
    if refused := _refused_return(played, line, context):
        return _as_failure_of(refused, failure, because_of(played))
    failure = _reclassified(failure, context, played, line)
    explained = _advised(failure, context, played, line)
    cause = replace(explained.cause, evidence=tuple(_shown(failure.cause, traceback)))
    return replace(explained, cause=cause)


def _refused_return(played: PartResult, line: FailingLine | None, context: FailureContext) -> FailingLine | None:
    """Return the function of the script's own whose result its trainer cannot use; None where something else failed."""
    error = because_of(played)
    returning = find_returning(error, line, context.sources) if line else None
    if returning or (line and line.role):
        return returning
    return find_rewarding(error, played.first("rewarded"), context.sources)


def _reclassified(failure: Failure, context: FailureContext, played: PartResult, line: FailingLine | None) -> Failure:
    """Return a failure as one of the code, where the user's own line fails with good rows too; as one of no known class, in a job file's script."""
    name = failure.cause.signature.name
    if name == ROWS and failure.blame == "code" and line and not line.entered:
        cause = name_cause(CODE, because_of(played), {})
        return replace(failure, cause=replace(cause, evidence=failure.cause.evidence))
    if name == CODE and context.job and not line:
        return _as_job_failure(failure)
    return failure


def _advised(failure: Failure, context: FailureContext, played: PartResult, line: FailingLine | None) -> Failure:
    """Return a failure with its cause and its fix, at the line that failed, or at the one that gives the setting at fault."""
    error = because_of(played)
    placed = _placed(failure, context, error, line)
    cause, fix = advise(failure.cause, _circumstances(placed, context, played, line))
    if given := _given_elsewhere(failure, context, line, error, fix):
        placed = _placed(failure, context, error, given)
        cause, fix = advise(failure.cause, _circumstances(placed, context, played, given))
    return replace(placed, cause=replace(failure.cause, cause=cause, fix=fix))


def _as_job_failure(failure: Failure) -> Failure:
    """Return a failure in the script of a job file, which is no code of the user's."""
    signature = replace(failure.cause.signature, title=UNKNOWN)
    return replace(failure, cause=replace(failure.cause, signature=signature))


def _explained_without_exception(failure: Failure, context: FailureContext) -> Failure:
    """Return a failure without an exception, or one that a limit ended, with its fix in one sentence."""
    about = Circumstances(error="", target=context.target, adapted=_makes_adapter(context), place=failure.where)
    cause, fix = failure.cause.cause, failure.cause.fix
    if fix == general_advice(failure.cause.signature):
        _, fix = advise(failure.cause, about)
    if TIME in failure.over and failure.cause.signature.name == CODE:
        signature = replace(failure.cause.signature, title=OVER)
        failure, fix = (
            replace(failure, cause=replace(failure.cause, signature=signature)),
            MORE_TIME.format(failure.stage),
        )
    if failure.cause.signature.name in LABELLED and failure.function:
        cause = f"{cause} `{failure.function}` sets them."
    return replace(failure, cause=replace(failure.cause, cause=_as_sentence(cause), fix=fix))


def _as_sentence(text: str) -> str:
    """Return a text with a capital letter, unless it begins with a setting or another name.

    >>> _as_sentence("the run saves nothing"), _as_sentence("fp16=True asks for a GPU")
    ('The run saves nothing', 'fp16=True asks for a GPU')
    """
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def _reported_line(failure: Failure, context: FailureContext) -> FailingLine | None:
    """Return the line of the user's own code that was reported with the failure, else that of the setting that it is about."""
    path, _, number = failure.where.rpartition(":")
    if path not in context.sources or not number.isdigit():
        text = f"{failure.cause.cause} {failure.cause.fix}"
        if context.job or failure.over:
            return None
        named = find_argument(text, context.sources, context.cells)
        labelled = named is None and failure.cause.signature.name in LABELLED
        return find_labelling(context.sources, context.cells) if labelled else named
    cells = context.cells if is_notebook(path) else ()
    code = context.sources[path].splitlines()[int(number) - 1 : int(number)]
    return FailingLine(path=path, line=int(number), code="".join(code).strip(), cells=cells)


def _given_elsewhere(
    failure: Failure, context: FailureContext, line: FailingLine | None, error: str, fix: str
) -> FailingLine | None:
    """Return the line of the setting that a library refuses, where the line that failed is the one that handed it over."""
    # The fix of `no-network-on-node` names settings that are not at fault.
    if failure.cause.signature.name in (CODE, NO_NETWORK) or context.job:
        return None
    if line is None or PARSES.search(line.code):
        return _given_outside(context, error, fix)
    if line.role or not line.entered:
        return None
    given = _refused_argument(failure, context, error, fix)
    return replace(given, entered=line.entered) if given else None


def _refused_argument(failure: Failure, context: FailureContext, error: str, fix: str) -> FailingLine | None:
    """Return the line of the argument that a library refuses; None if the error and its fix name none of the program."""
    given = find_argument(f"{error} {fix}", context.sources, context.cells)
    if given is None and failure.cause.signature.phase == CONFIG:
        given = find_argument_in_words(error, context.sources, context.cells)
    return given


def _given_outside(context: FailureContext, error: str, fix: str) -> FailingLine | None:
    """Return the line outside the program that gives the setting which an error is about: in a shell script, or in a file of settings."""
    flag = next((context.flags[name] for name in FLAG.findall(error) if name in context.flags), None)
    files = {path: text for path, text in context.sources.items() if target_kind(path) is TargetKind.JOB}
    return flag or find_argument(f"{error} {fix}", files)


def _makes_adapter(context: FailureContext) -> bool:
    """True if the job trains an adapter, as far as its text or its model tells."""
    named = (
        context.job.get("peft", None) is not None
        if context.job
        else any(ADAPTS.search(text) for text in context.sources.values())
    )
    return named or bool(context.parts["whole"].facts("adapter"))


def _placed(failure: Failure, context: FailureContext, error: str, line: FailingLine | None) -> Failure:
    """Return a failure with where it stands in what the user wrote: their line, else the key of their job file."""
    placed = _at_line(failure, line) if line else failure
    if context.job is None:
        return placed
    phase = failure.cause.signature.phase
    key = find_job_key(context.job, error, line, stage=failure.stage, phase=phase)
    where = line.where if line else place_of(context.job, key) if key else ""
    return replace(placed, where=where, key=key)


def _at_line(failure: Failure, line: FailingLine) -> Failure:
    return replace(failure, function=line.function, role=line.role, code=line.code, where=line.where)


def _as_failure_of(line: FailingLine, failure: Failure, error: str) -> Failure:
    """Return the failure of a trainer that cannot use what a function of the script returned as that function's."""
    advice = advise_returning(error, line)
    cause = replace(name_cause(GIVEN[line.entered].failure, advice.cause, {}), fix=advice.fix)
    shows = f"the trainer called `{line.function}` as it calls each {line.role}"
    return replace(_at_line(failure, line), cause=cause, blame="code", blamed=shows)


def _circumstances(
    failure: Failure, context: FailureContext, played: PartResult, line: FailingLine | None
) -> Circumstances:
    training = played.first("training")
    kinds = training.get("trainer") or ("",)
    return Circumstances(
        error=because_of(played),
        exited=played.exited,
        line=line,
        columns=_columns(played),
        loaded=tuple(_loaded(played)),
        modules=tuple(str(name) for name in played.first("model").get("linear") or ()),
        trainer=str(kinds[0]),
        inspected=_inspected(context, played, str(kinds[0])),
        keeps_columns=training.get("arguments", {}).get("remove_unused_columns") is False,
        sources=context.sources,
        own_modules=context.own_modules,
        target=context.target,
        is_job=context.job is not None,
        key=failure.key,
        place=failure.where,
    )


def _columns(played: PartResult) -> tuple[str, ...]:
    """Return the columns that a trainer was given, else those of the rows that were loaded last."""
    given = played.first("training").get("columns")
    loaded = next((each["columns"] for each in reversed(played.facts("dataset")) if each.get("columns")), ())
    return tuple(given if isinstance(given, list) else loaded)


def _loaded(played: PartResult) -> Iterator[str]:
    """Yield the columns of all rows that a script loaded, whatever their split."""
    for each in played.facts("dataset"):
        columns = each.get("columns") or ()
        for names in columns.values() if isinstance(columns, Mapping) else [columns]:
            yield from map(str, names or ())


def _inspected(context: FailureContext, played: PartResult, trainer: str) -> str:
    """Return the words after `holdfast inspect` that show what the rows are to a method; empty if nothing names the rows."""
    if context.job is not None:
        return quote(context.target)
    rows = played.first("dataset")
    named = next((found for key in ("data_files", "data_dir", "path") if (found := _first_file(rows.get(key)))), None)
    method = trainer.removesuffix("Trainer").lower()
    known = method in {each.value for each in Method}
    return f"{quote(named)} --method {method}" if known and isinstance(named, str) and PurePath(named).name else ""


def _first_file(named: Any) -> str | None:
    """Return the first of the files that a dataset is made of: one, a list of them, or several by split."""
    while isinstance(named, list | Mapping) and named:
        named = named[0] if isinstance(named, list) else next(iter(named.values()))
    return named if isinstance(named, str) else None


def _shown(cause: Cause, traceback: Traceback | None) -> list[Evidence]:
    """Return the lines that say something to whoever wrote the script: no marks, and none of the code that led there."""
    kept = _saying_lines(cause, traceback)
    if not kept and traceback:
        kept = [Evidence(path="stderr.log", line=each.number, text=each.text) for each in traceback.error[:1]]
    return _without_repeats([replace(each, text=OURS.sub("", each.text)) for each in kept])


def _saying_lines(cause: Cause, traceback: Traceback | None) -> list[Evidence]:
    code = _code_lines(traceback) if traceback else set[str]()
    kept = [each for each in cause.evidence if not (MARKS.fullmatch(each.text) or FRAME.match(each.text))]
    return [each for each in kept if each.text.strip() not in code]


def _code_lines(traceback: Traceback) -> set[str]:
    """Return the lines of code that a traceback shows."""
    return {frame.code.strip() for part in traceback.chain for frame in part.frames}


def _without_repeats(shown: Sequence[Evidence]) -> list[Evidence]:
    """Return the lines whose message stands in no other one: a rendered script says it, and raises then."""
    messages = [each.text.removeprefix(SAID_BEFORE).strip() for each in shown]
    return [
        each
        for each, message in zip(shown, messages, strict=True)
        if not any(message in other.text for other in shown if other is not each)
    ]
