"""Exceptions and warnings of a log whose very words are known from the libraries' releases: where they are raised, and by which.

Only exceptions, and lines that are kept anyway, are looked up; each costs some tens of microseconds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final

from holdfast.catalog.api.spans import spell
from holdfast.catalog.messages import KnownMessage, MessagePlace, PackageMessages, load_messages, packages
from holdfast.core.diagnose.diagnosis import Signature
from holdfast.core.diagnose.log import Frame, Line, Log, Traceback
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.exception_subject import sense_of
from holdfast.engine.diagnose.log_context import TEARDOWN, read_log_context, survived
from holdfast.engine.diagnose.raised_classes import class_of
from holdfast.engine.diagnose.reading import joined_error
from holdfast.engine.diagnose.tracebacks import ERROR
from holdfast.engine.diagnose.unknown_exceptions import USER_CODE

CAREFUL: Final = 0.58
"""Score of a class that is known by where a message is raised, and not by what a signature's author knows of it."""
SURE_WORDS: Final = 6
"""Literal words from which a message is known again without the frame that raised it: Python itself says `tuple index out of range`."""
MOST_LINES: Final = 400
"""Lines, and exceptions, that are looked up; more say the same again."""
LOGGED: Final = re.compile(r"warning|error|\w+Warning")
QUOTED: Final = frozenset({"KeyError"})
"""Exceptions whose text is their argument's `repr`."""


@dataclass(frozen=True, slots=True)
class LibraryMessage:
    """A message of a log that a library is known to write.

    Attributes:
        line: Where it stands.
        said: What it is.
        places: Where it may come from: what the traceback's last frame leaves of its places.
        known: Its package's messages.
        exception: What was raised; None of a line that was only written.
    """

    line: Line
    said: KnownMessage
    places: tuple[MessagePlace, ...]
    known: PackageMessages
    exception: Traceback | None = None

    @property
    def name(self) -> str:
        """The class that the place and the words speak for; empty if they speak for none, or for several."""
        places = (f"{place.module}:{place.function}" for place in self.places)
        names = {class_of(self.said.kind, self.said.template, place) for place in places}
        return names.pop() if len(names) == 1 else ""

    @property
    def releases(self) -> int:
        """The releases that say so, a bit for each."""
        found = 0
        for place in self.places:
            found |= place.releases
        return found

    def __str__(self) -> str:
        """Return the origin of the message: ``trl 0.15.0 to 0.19.1 in `SFTTrainer.__init__` ``."""
        functions = {place.function for place in self.places}
        where = f" in `{functions.pop()}`" if len(functions) == 1 and functions != {""} else ""
        first, last = (self.known.versions[at] for at in _bounds(self.releases))
        return " ".join(filter(None, (self.said.package, spell(self.known.versions, first, last)))) + where


def find_raised(log: Log) -> list[LibraryMessage]:
    """Return the exceptions of a log that libraries are known to raise, the innermost of a chain first, and then the warnings."""
    lines = {re.sub(r"\d+", "#", line.text): line for line in chain((hit.line for hit in log.hits), log.head, log.tail)}
    warned = islice((line for line in lines.values() if not ERROR.match(line.text)), MOST_LINES)
    found = chain(map(_exception_message, exceptions_of(log)), map(_line_message, warned))
    return [each for each in found if each]


def versions_of(raised: Iterable[LibraryMessage]) -> dict[str, str]:
    """Return the releases that can have written all of these, by package, as requirements: `{"trl": ">=0.15.0,<0.20.0"}`.

    A package of which every release that is known could have is left out, and one of which none could: other code said so.
    """
    left: dict[str, tuple[PackageMessages, int]] = {}
    for each in raised:
        _, before = left.get(each.said.package, (each.known, -1))
        left[each.said.package] = (each.known, before & each.releases)
    required_by = {
        package: required(known.versions, releases) for package, (known, releases) in left.items() if releases
    }
    return {package: required for package, required in required_by.items() if required}


def message_at(raised: Iterable[LibraryMessage], lines: Iterable[Line]) -> LibraryMessage | None:
    """Return the library message in one of some lines."""
    places = {line.place for line in lines}
    return next((each for each in raised if each.line.place in places), None)


def with_low_confidence(
    candidates: Sequence[Candidate], raised: Sequence[LibraryMessage], signatures: Iterable[Signature], log: Log
) -> list[Candidate]:
    """Return candidates, and with them the class of an exception that no pattern knows, as its function's others are.

    Args:
        candidates: The likeliest first.
        raised: What is known of the log's messages.
        signatures: All.
        log: What was read.
    """
    made = _best_guess(candidates, raised, signatures, log)
    if made is None:
        return list(candidates)
    others = [each for each in candidates if not _is_vaguer(each, made)]
    if any(each.signature.name == made.signature.name and each.score >= made.score for each in others):
        return list(candidates)
    return _in_place_of_its_class(made, others)


def _in_place_of_its_class(candidate: Candidate, others: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates, the likeliest first, with one in place of any other of its class."""
    kept = [each for each in others if each.signature.name != candidate.signature.name]
    at = next((at for at, each in enumerate(kept) if each.score < candidate.score), len(kept))
    return [*kept[:at], candidate, *kept[at:]]


def _is_vaguer(candidate: Candidate, other: Candidate) -> bool:
    """True of a fault in the user's own code that no line speaks for, and that is no likelier than another class."""
    return candidate.signature.name == USER_CODE and candidate.decisive is None and candidate.score <= other.score


def _best_guess(
    candidates: Sequence[Candidate], raised: Sequence[LibraryMessage], signatures: Iterable[Signature], log: Log
) -> Candidate | None:
    """Return the class of the first exception that no pattern knows, and that ended something; None if it is known of none."""
    known = {each.name: each for each in signatures}
    taken = frozenset[tuple[str, int]]().union(*(each.root_places for each in candidates))
    guesses = (
        Candidate(signature=known[name], score=score, exception=exception)
        for name, score, exception in _guesses(raised, log, taken)
        if name in known
    )
    return next(guesses, None)


def _guesses(
    raised: Sequence[LibraryMessage], log: Log, taken: frozenset[tuple[str, int]]
) -> Iterator[tuple[str, float, Traceback]]:
    """Yield the class that each exception seems to be of, and its score, of those that no pattern knows, and that ended something."""
    ended = read_log_context(log).ended
    for name, score, exception in _subjects(raised, log):
        first = exception.error[0]
        is_over = TEARDOWN.search(first.text) or survived(first, ended)
        if not is_over and taken.isdisjoint(line.place for line in exception.error):
            yield name, score, exception


def _subjects(raised: Sequence[LibraryMessage], log: Log) -> Iterator[tuple[str, float, Traceback]]:
    """Yield the class and score of each exception, those whose words are known from the libraries' releases first."""
    yield from ((each.name, CAREFUL, each.exception) for each in raised if each.exception)
    yield from ((*sense_of(each), each) for each in exceptions_of(log))


def exceptions_of(log: Log) -> Iterator[Traceback]:
    """Yield the exceptions of a log, those of chains from the first raised on, each once; then those of which no frame is left."""
    seen: set[tuple[str, int]] = set()
    for each in _exceptions(log):
        if each.error[0].place not in seen and len(seen) < MOST_LINES:
            seen.add(each.error[0].place)
            yield each


def _exceptions(log: Log) -> Iterator[Traceback]:
    for last in chain(log.tracebacks, (hit.traceback for hit in log.hits if hit.traceback)):
        yield from (part for part in last.chain if part.error)
    for hit in log.hits:
        if hit.traceback is None and ERROR.match(hit.line.text):
            yield Traceback(start=hit.line, error=(hit.line,))


def _exception_message(exception: Traceback) -> LibraryMessage | None:
    error, _, message = joined_error(exception).partition(":")
    kind = error.rpartition(".")[2].strip()
    text = message.strip()
    found = (
        _placed(exception, known_message, known)
        for known in map(load_messages, packages())
        for known_message in known.find(text[1:] if kind in QUOTED else text, kind)
    )
    return _best([each for each in found if each])


def _placed(exception: Traceback, said: KnownMessage, known: PackageMessages) -> LibraryMessage | None:
    """Return a known message as the one that an exception has; None if its last frame is elsewhere, or missing and the message too short."""
    made = LibraryMessage(exception.error[0], said, said.places, known, exception=exception)
    frame = _named_frame(exception)
    if frame is None:
        return made if said.words >= SURE_WORDS else None
    places = tuple(each for each in said.places if each.is_at(frame.file, frame.function))
    return replace(made, places=places) if places else None


def _named_frame(exception: Traceback) -> Frame | None:
    """Return the frame that raised, if its file is known."""
    frame = next(reversed(exception.frames), None)
    return frame if frame and frame.file else None


def _line_message(line: Line) -> LibraryMessage | None:
    known = map(load_messages, packages())
    return _best(
        [
            LibraryMessage(line, known_message, known_message.places, each)
            for each in known
            for known_message in each.find(line.text)
            if known_message.words >= SURE_WORDS and LOGGED.fullmatch(known_message.kind)
        ]
    )


def _best(messages: Sequence[LibraryMessage]) -> LibraryMessage | None:
    """Return the one that says the most, from all its places; None where two packages say the same."""
    most = max((each.said.weight for each in messages), default=0)
    best = [each for each in messages if each.said.weight == most]
    if len({each.said.package for each in best}) != 1:
        return None
    return replace(best[0], places=tuple(place for each in best for place in each.places))


def _bounds(releases: int) -> tuple[int, int]:
    """Return the first and the last of some releases."""
    return (releases & -releases).bit_length() - 1, releases.bit_length() - 1


def required(versions: Sequence[str], releases: int) -> str:
    """Return the span of some releases as a requirement, `>=0.15.0,<0.20.0`; empty if it is all that are known.

    Args:
        versions: Those that are known, oldest first.
        releases: Some of them, a bit for each.
    """
    first, last = _bounds(releases)
    low = _since(versions, first) if first else ""
    high = f"<{versions[last + 1]}" if last + 1 < len(versions) else ""
    return ",".join(part for part in (low, high) if part)


def _since(versions: Sequence[str], first: int) -> str:
    """Return from which release on, as a requirement; of a large package only the last release of a minor version may be known."""
    before, at = versions[first - 1], versions[first]
    is_known = at.endswith(".0") or before.rpartition(".")[0] == at.rpartition(".")[0]
    return f">={at}" if is_known else f">{before}"
