"""Findings: what a rule says, where, and the edit that fixes it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import signature
from typing import Any, Final

from holdfast.core.job.document import Document, DocumentKind, Edit
from holdfast.core.text.places import Place, TextEdit

JOB_FILES: Final[frozenset[DocumentKind]] = frozenset({"job"})
PROGRAMS: Final[frozenset[DocumentKind]] = frozenset({"script", "command"})
ANY_KIND: Final = JOB_FILES | PROGRAMS
WITH_ROWS: Final = JOB_FILES | frozenset[DocumentKind]({"data"})
"""What rules about rows check: `inspect` has read every one of them, and `check` those of small files."""


class MissingFactError(Exception):
    """A rule would have to guess; the engine makes a Skip of it.

    Attributes:
        name: The fact or the key that is not known.
        because: Why it is not.
    """

    def __init__(self, name: str, because: str) -> None:
        super().__init__(f"{name}: {because}")
        self.name, self.because = name, because


class Severity(StrEnum):
    """How bad it is if the finding is true."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Fix:
    """The edits that fix a finding.

    Attributes:
        title: What the fix does, in the imperative.
        edits: Changes to the document, by key path.
        safe: Whether they keep what the user meant.
        text_edits: Changes to the text, of what is no value: a comment.
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True
    text_edits: tuple[TextEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in the job that a rule objects to.

    Attributes:
        key: Dotted key path of the setting, the one primary location.
        message: What is wrong there, with the offending values in it.
        fix: What fixes it, if that can be known.
        severity: How bad it is here, where it differs from the rule's own.
        rule: The rule that says so; the engine fills it in.
        document: The document that was checked, which its edits change; the engine fills it in.
        place: Where it stands; the engine fills it in where the rule does not: the key's.
        rows: Of rows of a dataset, the numbers of the first, counted from 0.
        count: How many rows there are.
    """

    key: str
    message: str
    fix: Fix | None = None
    severity: Severity | None = None
    rule: "Rule | None" = None
    place: Place | None = None
    document: Document | None = field(default=None, compare=False, repr=False)
    rows: tuple[int, ...] = ()
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """A rule that could not be checked. A skip is not a pass.

    Attributes:
        rule: The rule.
        missing: Names of the facts or keys it lacked.
        reasons: Why they are missing.
    """

    rule: "Rule"
    missing: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def because(self) -> str:
        """The reasons as one text."""
        return "; ".join(self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An example of a rule at work: a test, and a block on the rule's page.

    Attributes:
        job: The job file, as a user would write it; empty if the example is not a job file.
        script: The script likewise.
        command: The command line likewise.
        versions: The libraries' versions for which the example holds, by package; where it names none, the newest.
        facts: What the outside says of that job, by the rule's parameter names.
        at: Key of the finding; None in a good example.
        fixed: The source after the fix, when the rule offers one.
    """

    job: str = ""
    script: str = ""
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    at: str | None = None
    fixed: str | None = None

    @property
    def kind(self) -> DocumentKind:
        """What the example is an example of."""
        return "script" if self.script else "command" if self.command else "job"

    @property
    def source(self) -> str:
        """The example's text, of whichever kind it is."""
        return self.script or self.command or self.job

    @property
    def known(self) -> Mapping[str, object]:
        """What is known beside the text: its facts, and of a program that it names no file for its functions."""
        return {**({} if self.job else {"files": {}}), **self.facts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A check with its explanation and its examples.

    Attributes:
        code: Three letters for the area, three digits.
        name: What is wrong, so that "allow <name>" reads well.
        explain: The rule's page, in Markdown: the module docstring.
        severity: How bad it is.
        check: Pure function; its parameter names are the facts it needs. `job` is the Document, of which a rule
            reads values by `get` alone: that raises MissingFactError for a value that the source hides.
        source: What the rule rests on, and how it was tried.
        bad: Examples that the rule must report.
        good: Examples that it must not report.
        kinds: The kinds of documents that it checks. A rule that reads a job file's own keys says nothing of a script.
        may_be_meant: Whether what it reports may be meant even where every row has it, as roles that the template takes.
        since: The release of holdfast that first had it.
    """

    code: str
    name: str
    explain: str | None
    severity: Severity
    check: Callable[..., Iterable[Finding]]
    source: str
    bad: tuple[Case, ...]
    good: tuple[Case, ...]
    kinds: frozenset[DocumentKind] = JOB_FILES
    may_be_meant: bool = False
    since: str = "0.1.0"
    needs: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", frozenset(signature(self.check).parameters))

    @property
    def fixable(self) -> bool:
        """Whether some example shows a fix."""
        return any(case.fixed is not None for case in self.bad)

    @property
    def summary(self) -> str:
        """The first line of the page: what is wrong, in a sentence."""
        return (self.explain or self.name).partition("\n")[0]

    @property
    def why(self) -> str:
        """Why it is bad, in a few sentences: that part of the page."""
        _, _, text = (self.explain or "").partition("## Why is this bad\n")
        return " ".join(text.partition("\n## ")[0].split())

    def __repr__(self) -> str:
        return f"<{self.code} {self.name}>"

    def as_json(self) -> dict[str, Any]:
        """Return the rule as JSON."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity.value,
            "summary": self.summary,
            "fixable": self.fixable,
            "since": self.since,
        }
