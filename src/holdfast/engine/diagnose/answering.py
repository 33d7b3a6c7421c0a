"""What a diagnosis says: the cause and the fix with the log's own values, the lines that say so, how sure, what is missing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from posixpath import basename
from types import MappingProxyType
from typing import Final, Literal

from holdfast.catalog.environment.packages import load_packages, providers
from holdfast.core.diagnose.diagnosis import HEALTHY, NOT_IN_LOG, SURE, Cause, Diagnosis, Remedy
from holdfast.core.diagnose.log import Line, Log, Traceback
from holdfast.engine.diagnose.attempts import LEDGER
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.endings import ENDING
from holdfast.engine.diagnose.evidence import USERS, evidence_of
from holdfast.engine.diagnose.log_context import has_no_exceptions, read_log_context, survived
from holdfast.engine.diagnose.matching import Match
from holdfast.engine.diagnose.owners import called_frame, users_frame
from holdfast.engine.diagnose.raised import LibraryMessage, message_at, versions_of
from holdfast.engine.diagnose.renaming import releases_with, renaming_of
from holdfast.engine.diagnose.values import fill, is_met, names_in

DIAGNOSED: Final = 0.5
"""Score from which a class is called the cause."""
EVEN: Final = 0.5
RIVAL: Final = 0.5
"""Share of what an answer is surer than even that another class takes from it which is as sure as can be. Of 140 fresh logs 16 had a
rival of 0.6 or more: four in five of the first answers were right, where they stated 0.91; of the others it was 91 in a hundred."""
LEAST_CONFIDENCE: Final = 0.1
"""Confidence from which a cause is shown at all."""
MOST_CAUSES: Final = 5
EMPTY: Final = "the log itself: it is empty (with PYTHONUNBUFFERED=1 a job writes as it goes)"
GUESSED: Final = "A guess, by the words of a line that no signature knows:"
NAME: Final = (
    r"torch|transformers|trl|peft|accelerate|datasets|huggingface[-_]hub|tokenizers|safetensors|bitsandbytes|vllm|deepspeed|flash[-_]attn"
    r"|unsloth|xformers|triton|numpy|axolotl|ray|wandb|trackio"
)
RELEASE: Final = re.compile(
    rf"(?<![\w./-])({NAME})(?:\s*==\s*|-(?=\d)|@|\s+version:?\s+|\s{{2,}}|: | v(?=\d))v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|dev|rc|a|b)\d+)?)\b",
    re.IGNORECASE,
)
FAILED_RANK: Final = re.compile(r"\brank\s*: (\d+) \(local_rank")
DONE: Final = re.compile(
    r"Training completed|training done|SCRIPT DONE|Finished training|wandb: Synced|Run summary:"
    r"|Job finished|Successfully pushed|exited with code 0\b",
    re.IGNORECASE,
)


def answer(
    log: Log,
    candidates: Sequence[Candidate],
    echoes: Sequence[Match] = (),
    raised: Sequence[LibraryMessage] = (),
    subject: Mapping[str, str] = MappingProxyType({}),
) -> Diagnosis:
    """Return the diagnosis of a job's log.

    Args:
        log: What was read.
        candidates: The classes that it speaks for, the likeliest first.
        echoes: Lines that only follow from a cause.
        raised: What is known of its messages.
        subject: What the job trains, and how.
    """
    causes = _causes(candidates, raised, subject)
    verdict = _verdict(log, candidates[:1], echoes)
    if verdict != "unknown":
        causes = tuple(cause for cause in causes if (cause.signature.name == HEALTHY) == (verdict == "healthy"))
    is_quiet = (
        verdict == "unknown"
        and not echoes
        and not causes
        and has_no_exceptions(log)
        and not {ENDING, LEDGER} & set(log.paths)
    )
    missing = tuple(dict.fromkeys(_missing(log, echoes, causes, is_quiet=is_quiet))) if verdict == "unknown" else ()
    return Diagnosis(
        verdict=verdict,
        causes=causes,
        missing=missing,
        versions=_versions(log, candidates, raised),
        lines=log.lines,
        is_quiet=is_quiet,
    )


def with_guesses(diagnosis: Diagnosis, candidates: Sequence[Candidate]) -> Diagnosis:
    """Return an answer with what may be the cause of a log that tells of none."""
    known = {cause.signature.name for cause in diagnosis.causes}
    guessed = _causes([each for each in candidates if each.signature.name not in known])
    causes = sorted((*diagnosis.causes, *guessed), key=lambda cause: -cause.confidence)
    return replace(diagnosis, causes=tuple(causes[:MOST_CAUSES]), is_quiet=diagnosis.is_quiet and not causes)


def is_identified(candidates: Sequence[Candidate]) -> bool:
    """True if something that a signature knows is the cause, and no exception of which only the kind is known."""
    return bool(candidates) and candidates[0].score >= DIAGNOSED and candidates[0].exception is None


def _verdict(
    log: Log, best: Sequence[Candidate], echoes: Sequence[Match]
) -> Literal["diagnosed", "healthy", "unknown"]:
    if best and best[0].score >= DIAGNOSED:
        return "healthy" if best[0].signature.name == HEALTHY else "diagnosed"
    return "healthy" if _ended_well(log, echoes) else "unknown"


def _ended_well(log: Log, echoes: Sequence[Match]) -> bool:
    """True if training ended, and behind it stands neither an exception nor what follows from a cause elsewhere."""
    ended = read_log_context(log).ended or next((line for line in reversed(log.tail) if DONE.search(line.text)), None)
    if ended is None:
        return False
    raised = (last.start for last in log.tracebacks if last.start.path == ended.path)
    return all(survived(line, ended) for line in chain(raised, (echo.line for echo in echoes)))


def _causes(
    candidates: Sequence[Candidate],
    raised: Sequence[LibraryMessage] = (),
    subject: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Cause, ...]:
    shown = _open(candidates)[:MOST_CAUSES]
    causes = [_cause(each, raised, subject, _rival_of(each, candidates)) for each in shown]
    # Beside a cause, that the cause may be elsewhere says nothing.
    others = sorted(
        (each for each in causes[1:] if each.signature.name != NOT_IN_LOG), key=lambda cause: -cause.confidence
    )
    return tuple(cause for cause in (*causes[:1], *others) if cause.confidence >= LEAST_CONFIDENCE)


def _open(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the classes without those that a sure answer covers, and that only its own line speaks for."""
    if not candidates or candidates[0].score < SURE:
        return list(candidates)
    first = candidates[0]
    covered = [
        each
        for each in candidates[1:]
        if each.signature.name in first.signature.covers and each.line and each.line == first.line and not each.silent
    ]
    return [each for each in candidates if each not in covered]


def _rival_of(candidate: Candidate, candidates: Sequence[Candidate]) -> float:
    """Return the confidence of the surest unrelated class: neither follows from the other; 0 if there is none."""
    mine = candidate.signature
    others = (each for each in candidates if (each.signature.name == HEALTHY) == (mine.name == HEALTHY))
    scores = (
        each.score
        for each in others
        if each is not candidate and each.signature.name not in mine.covers and mine.name not in each.signature.covers
    )
    return max(scores, default=0.0)


def _beside(confidence: float, rival: float) -> float:
    """Return a confidence lowered for a rival that would be called the cause, too.

    >>> _beside(0.9, 0.3), round(_beside(0.9, 0.8), 2)
    (0.9, 0.74)
    """
    if min(confidence, rival) < EVEN:
        return confidence
    return EVEN + (confidence - EVEN) * (1 - RIVAL * rival)


def _cause(candidate: Candidate, raised: Sequence[LibraryMessage], subject: Mapping[str, str], rival: float) -> Cause:
    signature = candidate.signature
    values = {**subject, **_values(candidate)}
    known = message_at(raised, candidate.exception.error) if candidate.exception else None
    return Cause(
        signature=signature,
        confidence=round(_beside(candidate.score, rival), 3),
        evidence=tuple(evidence_of(candidate)),
        cause=" ".join(filter(None, _sentences(candidate, values, known))),
        fix=fill(signature.fix, values),
        remedy=tuple(filled for each in signature.remedy if (filled := _filled(each, values))),
        found_by=tuple(code for code, when in signature.found_by.items() if is_met(when, values)),
    )


def _sentences(candidate: Candidate, values: Mapping[str, str | None], message: LibraryMessage | None) -> Iterator[str]:
    """Yield why, in the signature's words, and what the libraries' releases tell beside."""
    yield GUESSED if candidate.is_guess else ""
    yield fill(candidate.signature.cause, values)
    yield releases_with(candidate.line.text) if candidate.line else ""
    yield f"It is raised by {message}." if message else ""


def _values(candidate: Candidate) -> Mapping[str, str | None]:
    """Return the values in the decisive line, completed from other lines of the same class, and from known renamings."""
    values = _sign_values(candidate)
    if candidate.exception and candidate.exception.error:
        values |= _exception_values(candidate.exception)
    elif (found := _raised_in_users(candidate)) is not None:
        values = {**_exception_values(found), **{name: value for name, value in values.items() if value}}
    return {**_called_in(candidate), **values} | renaming_of(values) | _package_of(values)


def _package_of(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the package that lets a program import a missing module, if it is the only one, and needs nothing for its build."""
    found = providers(values.get("module") or "")
    return {"package": found[0]} if len(found) == 1 and not load_packages()[found[0]].builds_with else {}


def _called_in(candidate: Candidate) -> dict[str, str]:
    """Return the user's own function that a library called and in which it was raised; nothing if there is none."""
    traceback = candidate.decisive.hit.traceback if candidate.decisive else None
    frames = traceback.frames if traceback else ()
    users = {"users": frame.file} if (frame := users_frame(frames)) else {}
    called = called_frame(frames)
    if called is None or traceback is None:
        return users
    error = traceback.error[0].text.strip() if traceback.error else ""
    return {
        **users,
        "within": called.function,
        "within_at": f"line {called.line} of {basename(called.file)}",
        "raised": f"`{error}`" if error else "",
    }


def _raised_in_users(candidate: Candidate) -> Traceback | None:
    """Return the exception that a sign of the user's own code is part of; None if there is none."""
    traceback = candidate.decisive.hit.traceback if candidate.decisive else None
    is_whole = traceback is not None and traceback.error and users_frame(traceback.frames)
    return traceback if is_whole and candidate.signature.phase == USERS else None


def _exception_values(exception: Traceback) -> dict[str, str]:
    """Return the values for the class of unknown exceptions."""
    kind, _, message = exception.error[0].text.partition(":")
    last = users_frame(exception.frames) or next(reversed(exception.frames), None)
    where = {"file": last.file, "line": str(last.line), "function": last.function, "code": last.code} if last else {}
    return {
        "error": kind.strip(),
        "message": message.strip().rstrip("."),
        "why": message.strip(),
        **{name: value for name, value in where.items() if value},
    }


def _filled(remedy: Remedy, values: Mapping[str, str | None]) -> Remedy | None:
    """Return a remedy with the log's values in it; None if the log lacks one."""
    given = {name for name, value in values.items() if value is not None}
    text = f"{remedy.key} {remedy.value}" if isinstance(remedy.value, str) else remedy.key
    if names_in(text) - given:
        return None
    value = fill(remedy.value, values) if isinstance(remedy.value, str) else remedy.value
    return Remedy(key=fill(remedy.key, values), action=remedy.action, value=value)


def _missing(log: Log, echoes: Sequence[Match], causes: Sequence[Cause], *, is_quiet: bool) -> Iterator[str]:
    """Yield the sources that would tell the cause, the most promising first."""
    if is_quiet and log.lines:
        yield "the other logs of the job, if it failed: of the other ranks, the launcher, the scheduler"
    yield from (match.signature.needs for match in echoes if match.signature.needs)
    yield from (cause.signature.needs for cause in causes if cause.signature.needs)
    yield from _missing_ranks(log)
    yield from _missing_ends(log) if log.lines else (EMPTY,)


def _missing_ranks(log: Log) -> Iterator[str]:
    """Yield the logs of ranks that failed, by what their launcher wrote, and of which there is none."""
    texts = (line.text for line in chain(log.tail, _hit_lines(log)))
    failed = {int(found[1]) for text in texts if (found := FAILED_RANK.search(text))}
    yield from (f"the log of rank {rank}" for rank in sorted(failed - log.ranks))


def _missing_ends(log: Log) -> Iterator[str]:
    """Yield the parts that were cut off a log, and the sources that would tell how the process ended."""
    yield from (f"the {end} of this log" for end in log.cut)
    if any(last.error for last in log.tracebacks):
        yield "the code that raised, and the log of any service it called"
    elif LEDGER in log.paths:
        yield "the scheduler's record, `dmesg` of the node"
    elif ENDING not in log.paths:
        yield "how the process ended: its exit code or signal (`--ended`), the scheduler's record, `dmesg` of the node"


def _hit_lines(log: Log) -> Iterator[Line]:
    """Yield the lines that may decide, each with those around it."""
    return (line for hit in log.hits for line in (hit.line, *hit.around))


def _versions(log: Log, candidates: Sequence[Candidate], raised: Sequence[LibraryMessage]) -> dict[str, str]:
    """Return the releases that a log names; where it does not, those in which its messages and the matched lines are written."""
    found: dict[str, str] = {}
    for name, releases in _releases(log, candidates, raised):
        found.setdefault(name, releases)
    return found


def _releases(log: Log, candidates: Sequence[Candidate], raised: Sequence[LibraryMessage]) -> Iterator[tuple[str, str]]:
    """Yield the releases of libraries by name, those that the log names first."""
    for line in chain(log.head, _hit_lines(log), log.tail):
        yield from ((name.lower().replace("_", "-"), release) for name, release in RELEASE.findall(line.text))
    yield from ((package.replace("_", "-"), required) for package, required in versions_of(raised).items())
    for candidate in candidates:
        for match in candidate.matches:
            yield from match.pattern.versions.items()


def _sign_values(candidate: Candidate) -> dict[str, str | None]:
    """Return the values of the lines and metrics that speak for a class; of each name the first that is known, the decisive line's before others."""
    sources: list[Mapping[str, str | None]]
    sources = [match.values for match in (candidate.decisive, *candidate.matches) if match]
    if candidate.silent:
        sources.append(candidate.silent.values)
    values: dict[str, str | None] = {}
    for name, value in chain.from_iterable(source.items() for source in sources):
        values[name] = values.get(name) or value
    return values
