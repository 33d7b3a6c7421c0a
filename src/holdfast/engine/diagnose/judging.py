"""Which of the classes that a log speaks for is the cause: roots before what follows from them.

The decisive line of a class counts as much as its pattern says. It counts less where the log shows that something else came
first: in an exception that only wraps another, in one that was handled, after another rank had failed, and in an exception
after which training went on. `weights.py` has the numbers, `log_context.py` what the log shows as a whole.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.core.diagnose.diagnosis import HEALTHY, Pattern, Signature
from holdfast.core.diagnose.log import Line, Log
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.cleaning import bare
from holdfast.engine.diagnose.log_context import (
    TEARDOWN,
    WAITED,
    LogContext,
    has_no_exceptions,
    is_exception,
    is_from_earlier_attempt,
    read_log_context,
    survived,
)
from holdfast.engine.diagnose.matching import Match
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.silent import ENDS_WELL
from holdfast.engine.diagnose.unknown_exceptions import USER_CODE, unknown_exception
from holdfast.engine.diagnose.weights import (
    ALONE,
    BESIDE_EXCEPTION,
    COVERS,
    EARLIER,
    HINT,
    LATER,
    MERELY_WARNED,
    NOT_SURE,
    OVER,
    SURE,
    SURVIVED,
    TOLERATED,
    TORN_DOWN,
    WARNED,
)

ADVICE: Final = re.compile(
    r"^\W*(?:Please|Try|Consider|Maybe|You (?:can|may|should|might|could)|Make sure|Ensure|Check|If (?:you|this)|In order to|To (?:fix|resolve|avoid|use))\b"
)
"""Beginnings of sentences that say what could be done, and not what happened."""
WRAPPERS: Final = re.compile(
    r"ChildFailedError|CalledProcessError|RayTaskError|SignalException|ProcessExitedException|ProcessRaisedException"
)
KEEPS_FROM_STARTING: Final = frozenset(
    {"device-not-set-per-rank", "more-ranks-than-gpus", "port-in-use", "port-permission-denied", "rendezvous-timeout"}
)
"""Classes with which no step is taken: a step, or the end of training, behind their lines disproves them."""
WARNING: Final = re.compile(r"(?<!NCCL )\bWARN(?:ING)?\b|\b\w*Warning: ")
"""A logger's warning; NCCL says WARN of what ends it."""
LOGGED: Final = re.compile(r"\bERROR\b|\berror: ")
"""A logger's error: an optional library that does not load, a package that could not be built."""
RETRIED: Final = re.compile(r"\b[Rr]etry(?:ing)?\b|thrown while requesting |Trying to resume download")
"""What is said of an attempt at a request that is made again."""
FAILED: Final = re.compile(r"failed \(exitcode: -?\d+\) local_rank: (?P<rank>\d+)")
"""A launcher's line about a process that failed."""
YEARLESS_S: Final = 1e8
"""Times below it are seconds of an unknown year."""


def rank(
    log: Log,
    matches: Iterable[Match],
    silent: Sequence[ClassEvidence] = (),
    signatures: Iterable[Signature] = (),
    ruled_out: Collection[str] = (),
) -> list[Candidate]:
    """Return the classes that a log speaks for, the likeliest cause first.

    Args:
        log: What was read.
        matches: The lines that match.
        silent: What the metrics say.
        signatures: Those of which the metrics, and exceptions that no signature knows, may speak.
        ruled_out: Classes that the job's settings exclude, unless a line says them outright.
    """
    matches = list(matches)
    context = replace(read_log_context(log), restarted=_last_attempt(log, matches))
    by_class: dict[str, list[Match]] = {}
    for match in matches:
        by_class.setdefault(match.signature.name, []).append(match)
    candidates = [made for group in by_class.values() if (made := _candidate(group, context))]
    candidates = _later_less(candidates, context)
    known = {signature.name: signature for signature in signatures}
    candidates = _with_silent(candidates, silent, known, context)
    if USER_CODE in known:
        candidates += unknown_exception(candidates, known[USER_CODE], context)
    candidates = [each for each in candidates if each.signature.name not in ruled_out or _is_explicit(each)]
    candidates.sort(key=lambda each: (-round(each.score, 3), _order(log, each.line)))
    return _covered_last(candidates)


def _is_explicit(candidate: Candidate) -> bool:
    """True if a line says the cause outright: then the log is not of the job whose settings exclude it."""
    decisive = candidate.decisive
    return decisive is not None and decisive.pattern.role == "root" and decisive.pattern.weight >= SURE


def _candidate(matches: Sequence[Match], context: LogContext) -> Candidate | None:
    """Return the candidate that signs of one class amount to; None if all of them only follow from a cause."""
    roots = [match for match in matches if match.pattern.role == "root"]
    hints = [match for match in matches if match.pattern.role == "hint"]
    deciding = roots or hints
    if not deciding:
        return None
    decisive = max(deciding, key=lambda match: (_weight(match, context), not match.is_source, -match.line.number))
    sure = _weight(decisive, context) * (1.0 if roots else ALONE)
    score = min((1 - (1 - sure) * _doubt((*roots, *hints), decisive.pattern), *_limits(decisive, roots, context)))
    return Candidate(signature=matches[0].signature, score=score, decisive=decisive, matches=tuple(matches))


def _limits(decisive: Match, roots: Iterable[Match], context: LogContext) -> Iterator[float]:
    """Yield the highest scores that a class may have, by what its lines are."""
    line = decisive.line
    if not any(map(_is_statement, roots)):
        yield NOT_SURE
    if survived(line, context.ended) and _is_retried(line):
        yield OVER
    if WARNING.search(line.text) and has_no_exceptions(context.log) and decisive.signature.name not in ENDS_WELL:
        yield MERELY_WARNED


def _is_statement(match: Match) -> bool:
    """True if a line says what happened: it is no advice, and no wrapper of what another process raised."""
    if WRAPPERS.search(match.pattern.line):
        return False
    if is_exception(match.hit):
        return True
    text = bare(match.line.text)
    found = re.search(match.pattern.line, text)
    start = found.start() if found else 0
    sentence = re.split(r"(?<=[.!;])\s", text[: start + 1])[-1][:-1] + text[start:]
    return ADVICE.match(sentence) is None


def _doubt(matches: Iterable[Match], besides: Pattern | None = None) -> float:
    """Return the doubt that the patterns of some lines leave, each of them counted once, and one pattern not at all."""
    patterns = {id(match.pattern): match.pattern for match in matches if match.pattern is not besides}
    left = 1.0
    for pattern in patterns.values():
        left *= 1 - HINT * pattern.weight
    return left


def _weight(match: Match, context: LogContext) -> float:
    """Return the weight of a sign at its place."""
    traceback = match.hit.traceback
    factor = context.parts.get(traceback.start.place, 1.0) if traceback else 1.0
    if is_from_earlier_attempt(match.line, context):
        factor *= EARLIER
    if survived(match.line, context.ended):
        factor *= _share_before_end(match)
    elif _has_started_after(match, context):
        factor *= SURVIVED
    if _is_victim(match.line, context):
        factor *= TORN_DOWN
    return match.pattern.weight * factor


def _has_started_after(match: Match, context: LogContext) -> bool:
    """True if a step was taken behind a line that says that none can be."""
    if match.signature.name not in KEEPS_FROM_STARTING:
        return False
    return any(survived(match.line, step.line) for step in context.log.metrics)


def _is_victim(line: Line, context: LogContext) -> bool:
    """True if a line only follows from an exception of the log: a launcher names the rank that raised it, or another rank waited for that one."""
    if found := FAILED.search(line.text):
        return int(found["rank"]) in context.raised
    return line.rank is not None and bool(WAITED.search(line.text)) and bool(context.raised - {line.rank})


def _last_attempt(log: Log, matches: Iterable[Match]) -> Line | None:
    """Return the last line with which an attempt began and after which the log reports on it; None if there is none."""
    roots = [match.line for match in matches if match.pattern.role == "root"]
    reported = [*roots, *(last.start for last in log.tracebacks), *(step.line for step in log.metrics)]
    return next(
        (
            line
            for line in reversed(log.restarts)
            if any(each.path == line.path and each.number > line.number for each in reported)
        ),
        None,
    )


def _share_before_end(match: Match) -> float:
    """Return the weight of a sign after which training went on to its end."""
    if is_exception(match.hit) or _is_retried(match.line) or match.signature.name in KEEPS_FROM_STARTING:
        return SURVIVED
    if match.signature.name in ENDS_WELL:
        return 1.0
    if match.pattern.weight < SURE:
        return WARNED
    return _share_of_logged(match)


def _share_of_logged(match: Match) -> float:
    """Return the weight of a line, sure by itself, by how a logger calls it."""
    if LOGGED.search(match.line.text):
        return SURVIVED if match.signature.phase == "environment" else TOLERATED
    return TOLERATED if WARNING.search(match.line.text) else 1.0


def _is_retried(line: Line) -> bool:
    return RETRIED.search(line.text) is not None


def _order(log: Log, line: Line | None) -> tuple[int, int]:
    if line is None:
        return (len(log.paths), 0)
    return (log.paths.index(line.path) if line.path in log.paths else 0, line.number)


def _later_less(candidates: Sequence[Candidate], context: LogContext) -> list[Candidate]:
    """Return candidates, those whose exception came after another root's exception counting less."""
    raised = [
        each.decisive
        for each in candidates
        if each.decisive and each.decisive.pattern.role == "root" and is_exception(each.decisive.hit)
    ]
    return [
        replace(each, score=each.score * (TORN_DOWN if TEARDOWN.search(each.decisive.line.text) else LATER))
        if each.decisive and any(_follows(each.decisive, other, context) for other in raised)
        else each
        for each in candidates
    ]


def _follows(match: Match, other: Match, context: LogContext) -> bool:
    """True if a sign stands after another one that is no part of the same chain of exceptions."""
    if match.signature.name == other.signature.name or _same_chain(match, other, context.log):
        return False
    times = (match.line.at_s, other.line.at_s)
    if times[0] is not None and times[1] is not None and (times[0] < YEARLESS_S) == (times[1] < YEARLESS_S):
        return times[0] > times[1]
    return match.line.path == other.line.path and match.line.number > other.line.number


def _same_chain(match: Match, other: Match, log: Log) -> bool:
    starts = {each.hit.traceback.start.place for each in (match, other) if each.hit.traceback}
    for last in log.tracebacks:
        chain = {part.start.place for part in last.chain}
        if starts and starts <= chain:
            return True
    return False


def _with_silent(
    candidates: Sequence[Candidate],
    silent: Sequence[ClassEvidence],
    known: Mapping[str, Signature],
    context: LogContext,
) -> list[Candidate]:
    """Return candidates, and what the metrics say added to them."""
    by_name = {each.signature.name: each for each in candidates}
    for finding, weight in _weighted(silent, context):
        if finding.name in known:
            made = Candidate(signature=known[finding.name], score=weight, silent=finding)
            before = by_name.get(finding.name)
            by_name[finding.name] = _strengthened(before, finding, weight) if before else made
    return list(by_name.values())


def _weighted(silent: Iterable[ClassEvidence], context: LogContext) -> Iterator[tuple[ClassEvidence, float]]:
    """Yield findings with their weight: beside an exception that ended the job they count less, and not at all if they say that all is well."""
    failed = _has_failed(context)
    for finding in silent:
        if not failed:
            yield finding, finding.weight
        elif finding.name != HEALTHY:
            yield finding, finding.weight * (1.0 if finding.explains else BESIDE_EXCEPTION)


def _has_failed(context: LogContext) -> bool:
    """True if an exception ended the job."""
    errors = (last.error[0].text for last in context.log.tracebacks if last.error)
    return context.ended is None and not all(map(TEARDOWN.search, errors))


def _strengthened(candidate: Candidate, finding: ClassEvidence, weight: float) -> Candidate:
    """Return a candidate for which a finding speaks, too."""
    by_lines = 1 - (1 - candidate.score) * (1 - HINT * weight)
    by_metrics = 1 - (1 - weight) * _doubt(match for match in candidate.matches if match.pattern.role != "echo")
    return replace(candidate, score=max(by_lines, by_metrics), silent=_together(candidate.silent, finding))


def _together(first: ClassEvidence | None, other: ClassEvidence) -> ClassEvidence:
    """Return two findings of a class as one: the surer of them, with the lines and values of both."""
    if first is None:
        return other
    lines = tuple(dict.fromkeys((*first.lines, *other.lines)))
    return replace(other, weight=max(first.weight, other.weight), lines=lines, values={**other.values, **first.values})


def _covered_last(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates, those that another one of some weight covers behind all others."""
    covered = {name for each in candidates if each.decisive and each.score >= COVERS for name in each.signature.covers}
    return sorted(candidates, key=lambda each: each.signature.name in covered)
