"""Whose fault a failure is: the data's, the model's or the code's, by what becomes of it with known-good ones in their place.

One thing is replaced at a time. Where the failure is gone, or the script gets further than it, what was replaced is to blame;
where it stays whatever is replaced, the code is. Where something else fails at or before it, nothing is said.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.rehearse.rehearsal import STAGES, Blame, Failure, PartResult
from holdfast.engine.rehearse.naming import because_of

Instead = Literal["usual", "typed", "method", "model", "both"]
"""What stands in for the script's own: rows as most of its own are, good rows of its own columns and types, good rows as the
method takes them, a good model, or good rows and a good model."""
HOOK_EVENTS: Final = ("data", "model", "tokenize", "step", "evaluate", "save", "stop", "resume", "push", "export")
"""Stages whose failures are isolated: before them, no data and no model have a part in it."""
ELSEWHERE: Final = ("environment", "auth", "memory", "distributed", "kernels", "platform", "gguf")
"""Phases of classes that are a machine's or an account's."""
WHOLE_ROWS: Final[tuple[Instead, ...]] = ("typed", "method")
READS: Final = re.compile(r"\b(?:open|read_\w+|loads?)\(")
"""What opens and parses a file, in a line of a script."""
MADE_BY_US: Final = ("eval-train-leak",)
"""Classes that a few rows in place of many may have without fault of the script's: parts of them overlap."""
Fate = Literal["gone", "same", "other"]
GONE: Final[Mapping[Instead, tuple[Blame, str]]] = {
    "usual": ("data", "with only its most typical rows, it gets further"),
    "typed": ("data", "with known-good rows of the same columns and types, it goes further"),
    "method": ("data", "with known-good rows as the trainer takes them, it goes further"),
    "model": ("model", "with a known-good model and tokenizer, it goes further"),
}
"""What is to blame, and what shows it, by what was replaced when the failure was gone."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A rehearsal with something in place of the script's own.

    Attributes:
        instead: What.
        failures: What failed then.
        error: The exception that ended it: `KeyError`; empty if none did.
        rows_given: Whether rows were requested in a way in which others could be given.
    """

    instead: Instead
    failures: Sequence[Failure]
    error: str = ""
    rows_given: bool = True


def may_be_isolated(failure: Failure, *, machines: bool) -> bool:
    """True if data, model or code may be to blame for a failure.

    Args:
        failure: The failure.
        machines: Whether classes that are a machine's or an account's are isolated too.
    """
    known = failure.blame != "unknown"  # by a rule that looked at the rows, or at the model's files
    return failure.stage in HOOK_EVENTS and (machines or not (known or failure.cause.signature.phase in ELSEWHERE))


def error_of(played: PartResult) -> str:
    """Return the kind of exception that ended a part; empty if none did."""
    return "" if played.code == 0 and not played.over else because_of(played).partition(":")[0].strip()


def find_blame(failure: Failure, error: str, replays: Sequence[Replay], source: str) -> tuple[Blame, str]:
    """Return the blame for a failure, and its evidence.

    Args:
        failure: The failure.
        error: The exception that ended the part it was in.
        replays: What became of the script with other rows, with another model, with both.
        source: The script's text.
    """
    fates: dict[Instead, Fate] = {each.instead: _fate(failure, error, each) for each in replays}
    if blame := next((blame for name, blame in GONE.items() if fates.get(name) == "gone"), None):
        return blame
    given = _were_rows_given(replays) and not _reads(failure, source)
    if given and _stays(fates):
        return "code", "it fails alike with known-good rows, with a known-good model, and with both"
    return "unknown", _undecided(fates.get("both"), given=given)


def _were_rows_given(replays: Sequence[Replay]) -> bool:
    return any(each.rows_given for each in replays if each.instead in WHOLE_ROWS)


def _stays(fates: Mapping[Instead, Fate]) -> bool:
    """True if a failure was the same whatever was replaced: all rows, the model, and both."""
    rows = {fates[name] for name in WHOLE_ROWS if name in fates}
    return rows == {"same"} and fates.get("model") == "same" and fates.get("both") == "same"


def _reads(failure: Failure, source: str) -> bool:
    """True if the line that failed reads a file by itself, whose rows could not be replaced."""
    number, lines = failure.where.rpartition(":")[2], source.splitlines()
    return number.isdigit() and 0 < int(number) <= len(lines) and bool(READS.search(lines[int(number) - 1]))


def _fate(failure: Failure, error: str, replay: Replay) -> Fate:
    """Return the fate of a failure."""
    name = failure.cause.signature.name
    failed = [
        each for each in replay.failures if (other := each.cause.signature.name) == name or other not in MADE_BY_US
    ]
    before = [each for each in failed if STAGES.index(each.stage) <= STAGES.index(failure.stage)]
    if not before:
        return "gone"
    return "same" if error == replay.error and any(_is_same(failure, each) for each in before) else "other"


def _is_same(one: Failure, other: Failure) -> bool:
    return (one.stage, one.where, one.cause.signature.name) == (other.stage, other.where, other.cause.signature.name)


def _undecided(both: Fate | None, *, given: bool) -> str:
    if not given:
        return "the script reads its rows by itself: no others could be given"
    if both == "gone":
        return "it goes further only where rows and model are both replaced"
    return "something else failed in their place"
