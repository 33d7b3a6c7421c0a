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
from holdfast.core.diagnosis import Signature
from holdfast.core.log import Line, Log, Traceback
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
        is_placed: Whether that frame says so too.
        exception: What was raised; None of a line that was only written.
    """

    line: Line
    said: KnownMessage
    places: tuple[MessagePlace, ...]
    known: PackageMessages
    is_placed: bool = False
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
    known = {each.name: each for each in signatures}
    first = next((each for each in _guesses(candidates, raised, log) if each[0] in known), None)
    if first is None:
        return list(candidates)
    name, score, exception = first
    made = Candidate(signature=known[name], score=score, exception=exception)
    others = [
        each
        for each in candidates
        if each.signature.name != USER_CODE or each.decisive is not None or each.score > score
    ]
    if any(each.signature.name == name and each.score >= score for each in others):
        return list(candidates)
    kept = [each for each in others if each.signature.name != name]
    at = next((at for at, each in enumerate(kept) if each.score < score), len(kept))
    return [*kept[:at], made, *kept[at:]]


def _guesses(
    candidates: Sequence[Candidate], raised: Sequence[LibraryMessage], log: Log
) -> Iterator[tuple[str, float, Traceback]]:
    """Yield of each exception that no pattern knows, and that ended something, which class it seems to be of, and how sure that is.

    Those whose words are known from the libraries' releases come first.
    """
    taken = {match.line.place for each in candidates for match in each.matches if match.pattern.role == "root"}
    ended = read_log_context(log).ended
    known = ((each.name, CAREFUL, each.exception) for each in raised if each.exception)
    sensed = ((*sense_of(each), each) for each in exceptions_of(log))
    for name, score, exception in chain(known, sensed):
        first = exception.error[0]
        is_known = any(line.place in taken for line in exception.error)
        if not is_known and not TEARDOWN.search(first.text) and not (ended and survived(first, ended)):
            yield name, score, exception


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
    frame = exception.frames[-1] if exception.frames and exception.frames[-1].file else None
    found: list[LibraryMessage] = []
    for package in packages():
        known = load_messages(package)
        for known_message in known.find(text[1:] if kind in QUOTED else text, kind):
            places = tuple(each for each in known_message.places if frame and each.is_at(frame.file, frame.function))
            if places or (frame is None and known_message.words >= SURE_WORDS):
                found.append(
                    LibraryMessage(
                        exception.error[0],
                        known_message,
                        places or known_message.places,
                        known,
                        bool(places),
                        exception,
                    )
                )
    return _best(found)


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
