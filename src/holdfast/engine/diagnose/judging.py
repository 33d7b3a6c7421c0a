"""Which of the classes that a log speaks for is the cause: roots before what follows from them.

The decisive line of a class counts as much as its pattern says. It counts less where the log shows that something else came
first: in an exception that only wraps another, in one that was handled, after another rank had failed, and in an exception
after which training went on. `weights.py` has the numbers.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.core.diagnosis import HEALTHY, Pattern, Signature
from holdfast.core.log import Hit, Line, Log, Traceback
from holdfast.engine.diagnose.cleaning import bare
from holdfast.engine.diagnose.matching import Match
from holdfast.engine.diagnose.owners import calling_frames, is_users
from holdfast.engine.diagnose.silent import ENDS_WELL, ClassEvidence
from holdfast.engine.diagnose.tracebacks import ERROR, START
from holdfast.engine.diagnose.weights import (
    ALONE,
    BESIDE_EXCEPTION,
    COVERS,
    EARLIER,
    HANDLED,
    HINT,
    IN_USER_CODE,
    LATER,
    MERELY_WARNED,
    NOT_SURE,
    OVER,
    SURE,
    SURVIVED,
    TOLERATED,
    TORN_DOWN,
    UNDER_USER_CODE,
    WARNED,
    WRAPS,
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
USER_CODE: Final = "user-code-error"
PYTHONS: Final = re.compile(
    r"lib[/\\]python3[\d.]*[/\\](?:shutil|os|posixpath|genericpath|pathlib|glob|tempfile|copy|pickle|json[/\\]\w+|csv|re|random|argparse|configparser"
    r"|datetime|_strptime|collections[/\\]\w+|functools|contextlib|dataclasses|enum|typing|statistics|fractions|string|zipfile|tarfile|gzip)\.py$|^<frozen (?:os|posixpath|codecs|genericpath)>"
)
"""Modules of Python's own that fail for what they were called with."""
TEARDOWN: Final = re.compile(
    r"ChildFailedError|CalledProcessError|SystemExit|KeyboardInterrupt|BrokenPipeError|RayTaskError|ActorDiedError|EOFError"
    r"|ExceptionGroup|ConnectionResetError|DistBackendError|DistNetworkError|RendezvousConnectionError|SignalException|EngineDeadError"
    r"|Connection (?:closed|reset) by peer|ProcessExitedException|ProcessRaisedException|LocalEntryNotFoundError|ConnectionError"
)
"""Exceptions that say that something else failed, never the user's code alone."""
FAILED: Final = re.compile(r"failed \(exitcode: -?\d+\) local_rank: (?P<rank>\d+)")
"""A launcher's line about a process that failed."""
WAITED: Final = re.compile(
    r"collective operation timeout|(?:detected by watchdog|Timeout) at (?:NCCL )?work|Timed out waiting \d+ ?ms for (?:recv|send) operation"
)
"""What a rank says that waited for another one."""
YEARLESS_S: Final = 1e8
"""Times below it are seconds of a year that was not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A class that may be the cause.

    Attributes:
        signature: The class.
        score: How much speaks for it; between 0 and 1, not yet calibrated.
        decisive: The sign that says the most; None where only the metrics speak for it.
        matches: All lines that speak for it, in order.
        silent: What the metrics say.
        exception: The exception that nobody knows, of the class that stands for such.
        is_guess: Whether nothing but its words speaks for it.
    """

    signature: Signature
    score: float
    decisive: Match | None = None
    matches: tuple[Match, ...] = ()
    silent: ClassEvidence | None = None
    exception: Traceback | None = None
    is_guess: bool = False

    @property
    def line(self) -> Line | None:
        """The line that says the most."""
        if self.decisive:
            return self.decisive.line
        if self.silent:
            return self.silent.lines[0]
        return self.exception.error[0] if self.exception and self.exception.error else None


@dataclass(frozen=True, slots=True)
class LogContext:
    """What a log tells as a whole.

    Attributes:
        log: The log.
        parts: What each exception of a chain counts for, by where its traceback begins.
        ended: The line with which training ended well; None where it did not.
        restarted: The line with which the last attempt began, if something is told behind it; None where there was one.
        raised: The ranks of which the log has an exception of their own, that does not say that something else failed.
    """

    log: Log
    parts: Mapping[tuple[str, int], float]
    ended: Line | None
    restarted: Line | None = None
    raised: frozenset[int] = frozenset()


def read_log_context(log: Log) -> LogContext:
    """Return the facts of a log as a whole."""
    ends = [step.line for step in log.metrics if "train_runtime" in step.values]
    return LogContext(log, _parts(log), ends[-1] if ends else None, raised=_raised(log))


def _raised(log: Log) -> frozenset[int]:
    """Return the ranks that raised something of their own, after which no step was taken; where no rank is told, the one there is is rank 0."""
    stepped = {step.line.path: step.line.number for step in log.metrics}
    own = (
        last.start
        for last in log.tracebacks
        if last.error
        and not _is_from_other_process(last.error[0].text)
        and last.start.number > stepped.get(last.start.path, 0)
    )
    return frozenset(line.rank or 0 for line in own if line.rank is not None or not log.ranks)


def _is_from_other_process(error: str) -> bool:
    return bool(TEARDOWN.search(error) or WAITED.search(error))


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
        signatures: Those of which the metrics, and exceptions that nobody knows, may speak.
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
        candidates += _unknown_exception(candidates, known[USER_CODE], context)
    candidates = [each for each in candidates if each.signature.name not in ruled_out or _is_explicit(each)]
    candidates.sort(key=lambda each: (-round(each.score, 3), _order(log, each.line)))
    return _covered_last(candidates)


def _is_explicit(candidate: Candidate) -> bool:
    """True if a line says the cause outright: then the log is not of the job whose settings exclude it."""
    decisive = candidate.decisive
    return decisive is not None and decisive.pattern.role == "root" and decisive.pattern.weight >= SURE


def _candidate(matches: Sequence[Match], context: LogContext) -> Candidate | None:
    """Return the candidate that signs of one class amount to; None where all of them only follow from a cause."""
    roots = [match for match in matches if match.pattern.role == "root"]
    hints = [match for match in matches if match.pattern.role == "hint"]
    if not roots and not hints:
        return None
    decisive = max(roots or hints, key=lambda match: (_weight(match, context), not match.is_source, -match.line.number))
    sure = _weight(decisive, context) * (1.0 if roots else ALONE)
    others = {id(match.pattern): match.pattern for match in (*roots, *hints) if match.pattern is not decisive.pattern}
    score = 1 - (1 - sure) * _doubt(others.values())
    if not any(_is_statement(match) for match in roots):
        score = min(score, NOT_SURE)
    if context.ended and survived(decisive.line, context.ended) and _is_retried(decisive.line):
        score = min(score, OVER)
    if (
        WARNING.search(decisive.line.text)
        and has_no_exceptions(context.log)
        and decisive.signature.name not in ENDS_WELL
    ):
        score = min(score, MERELY_WARNED)
    return Candidate(signature=matches[0].signature, score=score, decisive=decisive, matches=tuple(matches))


def _is_statement(match: Match) -> bool:
    """True if a line says what happened: it is no advice, and no wrapper of what another process raised."""
    if WRAPPERS.search(match.pattern.line):
        return False
    if _is_exception(match.hit):
        return True
    text = bare(match.line.text)
    found = re.search(match.pattern.line, text)
    start = found.start() if found else 0
    sentence = re.split(r"(?<=[.!;])\s", text[: start + 1])[-1][:-1] + text[start:]
    return ADVICE.match(sentence) is None


def _doubt(patterns: Iterable[Pattern]) -> float:
    left = 1.0
    for pattern in patterns:
        left *= 1 - HINT * pattern.weight
    return left


def _weight(match: Match, context: LogContext) -> float:
    """Return the weight of a sign at its place."""
    traceback = match.hit.traceback
    factor = context.parts.get(traceback.start.place, 1.0) if traceback else 1.0
    if is_from_earlier_attempt(match.line, context):
        factor *= EARLIER
    if context.ended and survived(match.line, context.ended):
        factor *= _share_before_end(match)
    elif match.signature.name in KEEPS_FROM_STARTING and any(
        survived(match.line, step.line) for step in context.log.metrics
    ):
        factor *= SURVIVED
    if _is_victim(match.line, context):
        factor *= TORN_DOWN
    return match.pattern.weight * factor


def _is_victim(line: Line, context: LogContext) -> bool:
    """True if a line only follows from an exception of the log: a launcher names the rank that raised it, or another rank waited for that one."""
    if found := FAILED.search(line.text):
        return int(found["rank"]) in context.raised
    return line.rank is not None and bool(WAITED.search(line.text)) and bool(context.raised - {line.rank})


def _last_attempt(log: Log, matches: Iterable[Match]) -> Line | None:
    """Return the last line with which an attempt began behind which something is told of it; None where there is none."""
    roots = [match.line for match in matches if match.pattern.role == "root"]
    told = [*roots, *(last.start for last in log.tracebacks), *(step.line for step in log.metrics)]
    return next(
        (
            line
            for line in reversed(log.restarts)
            if any(each.path == line.path and each.number > line.number for each in told)
        ),
        None,
    )


def is_from_earlier_attempt(line: Line, context: LogContext) -> bool:
    """True if a line stands before the last attempt of the same log."""
    last = context.restarted
    return last is not None and line.path == last.path and line.number < last.number


def _share_before_end(match: Match) -> float:
    """Return the weight of a sign after which training went on to its end."""
    if _is_exception(match.hit) or _is_retried(match.line) or match.signature.name in KEEPS_FROM_STARTING:
        return SURVIVED
    if match.signature.name in ENDS_WELL:
        return 1.0
    if match.pattern.weight < SURE:
        return WARNED
    if LOGGED.search(match.line.text) and match.signature.phase == "environment":
        return SURVIVED
    return TOLERATED if any(words.search(match.line.text) for words in (WARNING, LOGGED)) else 1.0


def _is_retried(line: Line) -> bool:
    return RETRIED.search(line.text) is not None


def has_no_exceptions(log: Log) -> bool:
    """True if nothing in a log was raised."""
    return not log.tracebacks and not any(_is_exception(hit) for hit in log.hits)


def _is_exception(hit: Hit) -> bool:
    return hit.traceback is not None or ERROR.match(hit.line.text) is not None


def survived(line: Line, ended: Line) -> bool:
    """True if training went on to its end after a line: it is rank 0 that tells of the end, and speaks for no other."""
    return line.path == ended.path and line.number < ended.number and line.rank in (None, 0, ended.rank)


def _parts(log: Log) -> dict[tuple[str, int], float]:
    """Return the weight of each exception of a chain, by where it begins."""
    factors: dict[tuple[str, int], float] = {}
    for last in log.tracebacks:
        links = [link for _, link in last.earlier]
        for at, part in enumerate(last.chain):
            wraps = at > 0 and links[at - 1] == "cause"
            handled = at < len(links) and links[at] == "context"
            factors[part.start.place] = (WRAPS if wraps else 1.0) * (HANDLED if handled else 1.0)
    return factors


def _order(log: Log, line: Line | None) -> tuple[int, int]:
    if line is None:
        return (len(log.paths), 0)
    return (log.paths.index(line.path) if line.path in log.paths else 0, line.number)


def _later_less(candidates: Sequence[Candidate], context: LogContext) -> list[Candidate]:
    """Return candidates, those whose exception came after another root's exception counting less."""
    raised = [
        each.decisive
        for each in candidates
        if each.decisive and each.decisive.pattern.role == "root" and _is_exception(each.decisive.hit)
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
    failed = (
        any(last.error and not TEARDOWN.search(last.error[0].text) for last in context.log.tracebacks)
        and not context.ended
    )
    by_name = {each.signature.name: each for each in candidates}
    for finding in silent:
        if finding.name not in known or (failed and finding.name == HEALTHY):
            continue
        weight = finding.weight * (BESIDE_EXCEPTION if failed and not finding.explains else 1.0)
        before = by_name.get(finding.name)
        if before is None:
            by_name[finding.name] = Candidate(signature=known[finding.name], score=weight, silent=finding)
        else:
            patterns = {id(match.pattern): match.pattern for match in before.matches if match.pattern.role != "echo"}
            by_lines = 1 - (1 - before.score) * (1 - HINT * weight)
            by_metrics = 1 - (1 - weight) * _doubt(patterns.values())
            by_name[finding.name] = replace(
                before, score=max(by_lines, by_metrics), silent=_together(before.silent, finding)
            )
    return list(by_name.values())


def _together(first: ClassEvidence | None, other: ClassEvidence) -> ClassEvidence:
    """Return two findings of a class as one: the surer of them, with the lines and values of both."""
    if first is None:
        return other
    lines = tuple(dict.fromkeys((*first.lines, *other.lines)))
    return replace(other, weight=max(first.weight, other.weight), lines=lines, values={**other.values, **first.values})


def _unknown_exception(candidates: Sequence[Candidate], signature: Signature, context: LogContext) -> list[Candidate]:
    """Return the class of faults in the user's own code, if an exception that no signature knows ended the job."""
    claimed = {
        match.line.place
        for each in candidates
        for match in each.matches
        if match.pattern.role == "root" and match.signature.name != USER_CODE
    }
    best: Candidate | None = None
    for last in _exceptions(context.log):
        if (
            not last.error
            or TEARDOWN.search(last.error[0].text)
            or (context.ended and survived(last.start, context.ended))
        ):
            continue
        if any(line.place in claimed for part in last.chain for line in part.error):
            continue
        first = next((part for part, link in last.earlier if link == "cause"), last)
        score = IN_USER_CODE if _is_in_users(first) else UNDER_USER_CODE
        if last.count == 1 and is_from_earlier_attempt(last.start, context):
            score *= EARLIER
        if best is None or score > best.score:
            best = Candidate(signature=signature, score=score, exception=first)
    known = max((each.score for each in candidates if each.signature.name == USER_CODE), default=0.0)
    return [best] if best and best.score > known else []


def _is_in_users(exception: Traceback) -> bool:
    """True if an exception came up in the user's code, or in a module of Python's own that it called."""
    frames = calling_frames(exception.frames)
    inner = next((frame for frame in reversed(frames) if not PYTHONS.search(frame.file)), None)
    return inner is not None and is_users(inner)


def _exceptions(log: Log) -> Iterator[Traceback]:
    """Yield every exception: those of whole tracebacks, then those of which only the last frames stand in the log."""
    yield from log.tracebacks
    for hit in log.hits:
        if hit.traceback and START not in hit.traceback.start.text:
            yield hit.traceback


def _covered_last(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates, those that another one of some weight covers behind all others."""
    covered = {name for each in candidates if each.decisive and each.score >= COVERS for name in each.signature.covers}
    return sorted(candidates, key=lambda each: each.signature.name in covered)
