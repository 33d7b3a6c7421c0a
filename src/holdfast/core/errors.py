"""Every error the package raises on purpose.

* HoldfastError
  - UsageError        the question was wrong: bad option, missing target, missing extra
    - UnexportableError  GGUF files of a model cannot be made, for a known reason
    - JobError        a job file breaks its schema; raised in a GroupedError, all at once
      - MisspeltKeyError  a key of a job file is misspelt
      - RuleError     a rule reports a job file that also breaks its schema
    - ScriptArgumentsError  a script needs other arguments
    - LaterPythonError  a script is written for a newer Python than this one
  - SourceError       a fact could not be had: a file, a dataset, the Hub
  - BackendError      a place to run refused or broke
  - UnreachableError  a place to run did not answer: a request may or may not have been carried out
  - LogGoneError      a place to run does not have the log of an attempt any more
  - LedgerError       the ledger or a run folder could not be read or written
  - GroupedError      several of these at once, an ExceptionGroup too
"""

from collections.abc import Sequence
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    # for the types alone: every program imports the errors
    from holdfast.core.check.finding import Rule
    from holdfast.core.text.places import Place


@dataclass(frozen=True, slots=True)
class Spot:
    """Where in a source a mistake stands. Lines and columns count from 1, in characters; `origin` is a Place's."""

    path: str
    line: int | None = None
    column: int | None = None
    origin: str = ""

    @classmethod
    def of(cls, place: "Place") -> Self:
        """Return where a value begins."""
        return cls(place.path, place.line, place.column, place.origin)

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)


class HoldfastError(Exception):
    """An expected failure in three parts: what happened, where, how to fix it.

    >>> print(UsageError("no such run: 'x'", where="--runs runs", fix="`holdfast runs` lists them"))
    no such run: 'x'
      where: --runs runs
      fix:   `holdfast runs` lists them
    """

    def __init__(self, what: str, *, where: str | Spot, fix: str) -> None:
        super().__init__(what)
        self.what, self.where, self.fix = what, where, fix

    def __str__(self) -> str:
        return f"{self.what}\n  where: {self.where}\n  fix:   {self.fix}"

    @property
    def spot(self) -> Spot:
        """Where it happened, as a place in a source."""
        return self.where if isinstance(self.where, Spot) else Spot(self.where)

    def as_json(self) -> dict[str, Any]:
        """Return the error as `docs/contract.md` shows it."""
        path = self.spot.path if isinstance(self.where, Spot) else None
        place = {"path": path, "line": self.spot.line, "column": self.spot.column}
        return {"what": self.what, "where": str(self.where), **place, "fix": self.fix}


class UsageError(HoldfastError):
    """The question was wrong."""


class JobError(UsageError):
    """A job file breaks its schema."""


class MisspeltKeyError(JobError):
    """A job file has an unknown key that resembles one of the same place.

    Attributes:
        key: The key, dotted.
        meant: The last name of the one that may be meant.
    """

    def __init__(self, what: str, key: str, meant: str, *, where: Spot, fix: str) -> None:
        super().__init__(what, where=where, fix=fix)
        self.key, self.meant = key, meant


class RuleError(JobError):
    """A rule objects to a job file that breaks its schema too.

    Attributes:
        message: What the rule says.
        rule: The rule.
    """

    def __init__(self, message: str, rule: "Rule", *, where: Spot, fix: str) -> None:
        super().__init__(f"{rule.code} {message}", where=where, fix=fix)
        self.message, self.rule = message, rule


class ScriptArgumentsError(UsageError):
    """A script needs other arguments than it was given.

    Attributes:
        words: The words after the verb that pass what is missing too.
        missing: How many arguments are missing; 0 if one is refused.

    >>> error = ScriptArgumentsError("t.py requires `--lr`", where="t.py", words="t.py -- --lr …", missing=1)
    >>> error.for_verb("run").fix
    'pass it: `holdfast run t.py -- --lr …`'
    """

    def __init__(self, what: str, *, where: str | Spot, words: str, missing: int, verb: str = "rehearse") -> None:
        lacking = f"pass {'them' if missing > 1 else 'it'}: `holdfast {verb} {words}`"
        super().__init__(what, where=where, fix=lacking if missing else "correct the arguments after `--`")
        self.words, self.missing = words, missing

    def for_verb(self, verb: str) -> Self:
        """Return the same error for another verb's command line."""
        return type(self)(self.what, where=self.where, words=self.words, missing=self.missing, verb=verb)


class LaterPythonError(UsageError):
    """A script has syntax that the Python at hand does not read: nothing is said of it, for or against."""


class SourceError(HoldfastError):
    """A fact could not be had."""


class BackendError(HoldfastError):
    """A place to run refused or broke."""


class UnreachableError(HoldfastError):
    """A place to run did not answer: a request may or may not have been carried out. It can be repeated."""


class LogGoneError(HoldfastError):
    """A place to run does not have the log of an attempt any more, and never will."""


class LedgerError(HoldfastError):
    """The ledger or a run folder could not be read or written."""


class UnexportableError(UsageError):
    """GGUF files of a model cannot be made.

    Attributes:
        name: The class of failure.
    """

    def __init__(self, what: str, name: str, *, where: str | Spot, fix: str) -> None:
        super().__init__(what, where=where, fix=fix)
        self.name = name


class GroupedError(ExceptionGroup[HoldfastError], HoldfastError):
    """Several errors at once; whoever catches HoldfastError catches it, and reads them all in `str` and `exceptions`.

    >>> print(GroupedError("no job", [UsageError("no model", where="job.yaml", fix="name one")]))
    no model
      where: job.yaml
      fix:   name one
    """

    def __new__(cls, message: str, errors: Sequence[HoldfastError]) -> Self:
        """Make the group."""
        return super().__new__(cls, message, errors)

    def __init__(self, message: str, errors: Sequence[HoldfastError]) -> None:
        first = errors[0]
        HoldfastError.__init__(self, message, where=first.where, fix=first.fix)

    def __str__(self) -> str:
        return "\n".join(map(str, self.exceptions))


OWN_FILES: Final = __file__.removesuffix("core/errors.py")
"""The folder of this package. A file of it that cannot be read is our mistake."""
FULL: Final = (ENOSPC, EDQUOT)
MOST_ERRORS: Final = 100
"""Mistakes of one file that are reported one by one."""


def shorten(errors: Sequence[JobError]) -> list[JobError]:
    """Return errors as they are; of very many, the first, and one that counts the others, at the place of the next."""
    shown, rest = list(errors[:MOST_ERRORS]), errors[MOST_ERRORS:]
    if rest:
        shown.append(
            JobError(f"{len(rest):,} more mistakes", where=rest[0].spot, fix="correct those above, and check again")
        )
    return shown


def flatten(error: BaseException) -> list[HoldfastError]:
    """Every deliberate error in a group of groups, in order; and that of a file which cannot be used, as a SourceError."""
    match error:
        case BaseExceptionGroup():
            return [leaf for part in error.exceptions for leaf in flatten(part)]
        case HoldfastError():
            return [error]
        case OSError(filename=bytes() as name):
            return _unusable(name.decode(errors="replace"), error)
        case OSError(filename=str() as name):
            return _unusable(name, error)
        case _:
            return []


def _unusable(name: str, error: OSError) -> list[HoldfastError]:
    """The error of a file that the system does not let us read or write; none of a file of this package."""
    if name.startswith(OWN_FILES):
        return []
    fix = "free some disk space" if error.errno in FULL else "check the file and its permissions"
    return [SourceError(f"{name:.200} cannot be used: {error.strerror}", where=name[:200], fix=fix)]
