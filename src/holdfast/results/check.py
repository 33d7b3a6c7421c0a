"""The result of `check`."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Literal

from holdfast.core.check.finding import Severity
from holdfast.core.job.scenario import ScenarioChoices
from holdfast.results import Result, ResultPart

TargetVerdict = Literal["pass", "fail"]
Position = tuple[int, int]
"""A line and a column, both counted from 1; columns in characters."""


class ReportedEdit(ResultPart, frozen=True, kw_only=True):
    """One edit of a fix.

    Attributes:
        start: Where the replaced text begins.
        end: Where the replaced text ends; exclusive.
        text: The new text.
        cell: The notebook's cell, counted from 1.
        path: The file, if it is not the finding's.
    """

    start: Position
    end: Position
    text: str
    cell: int | None = None
    path: str | None = None


class ReportedFix(ResultPart, frozen=True, kw_only=True):
    """A fix.

    Attributes:
        safe: Whether it is a safe fix.
        title: The change, in words.
        edits: The edits; absent if they were not requested, empty if `--fix` cannot make them.
    """

    safe: bool
    title: str
    edits: Sequence[ReportedEdit] | None = None

    @property
    def by_hand(self) -> bool:
        """True if `--fix` cannot make it."""
        return self.edits is not None and not self.edits


class ReportedSuppression(ResultPart, frozen=True, kw_only=True):
    """The comment that suppresses a finding.

    Attributes:
        line: Counted from 1.
        reason: The reason that it gives; empty if it gives none.
    """

    line: int
    reason: str


class ReportedFinding(ResultPart, frozen=True, kw_only=True):
    """A finding, with its place in the file.

    Attributes:
        code: The rule's code.
        name: The rule's name.
        severity: The finding's own severity.
        message: What is wrong.
        key: The key of the job file, or the path of the value in the script.
        path: The file; for a value that overrides one of a job file, the name of the override.
        line: Counted from 1; null if the finding has no line.
        column: Counted from 1, in characters.
        end_line: Where it ends.
        end_column: Where it ends; exclusive.
        why: Why the rule exists.
        source: Where the rule's facts come from.
        fix: How to fix it.
        cell: The notebook's cell, counted from 1.
        origin: The kind of an override: `on the command line`, `in the environment`.
        overrides: The file whose value is overridden.
    """

    code: str
    name: str
    severity: Severity
    message: str
    key: str
    path: str
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    why: str
    source: str
    fix: ReportedFix | None
    cell: int | None = None
    origin: str | None = None
    overrides: str | None = None


class SuppressedFinding(ReportedFinding, frozen=True, kw_only=True):
    """A finding that a comment suppresses.

    Attributes:
        suppressed_by: The comment.
    """

    suppressed_by: ReportedSuppression


class ReportedSkip(ResultPart, frozen=True, kw_only=True):
    """A rule that was not checked.

    Attributes:
        code: Its code.
        missing: The facts that it needs and that are unknown.
        because: The reasons as one text, for people.
        reasons: Why they are unknown, each reason by itself: what programs read.
    """

    code: str
    missing: Sequence[str]
    because: str
    reasons: Sequence[str]


class AppliedFix(ResultPart, frozen=True, kw_only=True):
    """A fix that was applied, or that `--diff` shows.

    Attributes:
        code: The rule's code.
        message: What was wrong.
        title: What the fix does.
        safe: Whether it is a safe fix.
        line: Where the finding was.
        cell: The notebook's cell, counted from 1.
    """

    code: str
    message: str
    title: str
    safe: bool
    line: int | None
    cell: int | None = None


class ItemVerdict(StrEnum):
    """The verdict on an item of a checklist: a pass only where something in the job shows it."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not applicable"


class ChecklistEvidence(ResultPart, frozen=True, kw_only=True):
    """The evidence for an item's verdict.

    Attributes:
        code: The rule that decides it; null if the job itself shows it.
        path: The file; absent, like the fields below, if there is no place.
        line: Counted from 1.
        column: Counted from 1.
        cell: The notebook's cell, counted from 1.
    """

    code: str | None
    path: str | None = None
    line: int | None = None
    column: int | None = None
    cell: int | None = None


class ChecklistItem(ResultPart, frozen=True, kw_only=True):
    """An item of the pre-flight checklists.

    Attributes:
        item: Its name.
        asks: Its subject, in words.
        lists: The checklists that it is on.
        verdict: The verdict.
        because: Why.
        evidence: The evidence for the verdict.
    """

    item: str
    asks: str
    lists: Sequence[str]
    verdict: ItemVerdict
    because: str
    evidence: Sequence[ChecklistEvidence]


class TargetResult(ResultPart, frozen=True, kw_only=True):
    """The findings and skipped rules of one target.

    Attributes:
        path: The target.
        kind: The kind of target.
        method: The training method, if known.
        resolved: Versions of the libraries that it was checked against, by package.
        because: Where these versions come from.
        findings: The findings, in the order of the file.
        skipped: The rules that were not checked.
        suppressed: The findings that comments suppress.
        assumed: Options of the command line whose defaults were assumed; absent if there are none.
        unasked: Why the rules that need the Hub were left out, if they were.
        checklist: The pre-flight checklists; present with `--checklist`.
        fixed: The fixes that were applied; present with `--fix`, `--unsafe-fixes` and `--diff`.
        diff: What the fixes would change, as a unified diff; present with `--diff`.
        scenario: What the scenario of the job changed in it; absent if it names none.
    """

    path: str
    kind: Literal["script", "job", "command"]
    method: str | None
    resolved: Mapping[str, str]
    because: str
    findings: Sequence[ReportedFinding]
    skipped: Sequence[ReportedSkip]
    suppressed: Sequence[SuppressedFinding]
    assumed: Sequence[str] | None = None
    unasked: str | None = None
    checklist: Sequence[ChecklistItem] | None = None
    fixed: Sequence[AppliedFix] | None = None
    diff: str | None = None
    scenario: ScenarioChoices | None = None

    def fails(self, *, strict: bool) -> bool:
        """True if there is an error; where skips count as failures, if there is a skip, too."""
        errors = any(finding.severity is Severity.ERROR for finding in self.findings)
        return errors or bool(strict and self.skipped)


class UncheckedFile(ResultPart, frozen=True, kw_only=True):
    """A file of a folder that was not checked.

    Attributes:
        path: The file.
        because: Why.
    """

    path: str
    because: str


class RuleCount(ResultPart, frozen=True, kw_only=True):
    """The number of findings of a rule.

    Attributes:
        code: Its code.
        name: Its name.
        count: All its findings.
        fixable: Those with a safe fix.
        unsafe_fixable: Those with an unsafe fix.
    """

    code: str
    name: str
    count: int
    fixable: int
    unsafe_fixable: int


class CheckResult(Result, frozen=True, kw_only=True):
    """The findings of `check`.

    Attributes:
        verdict: `fail` if a target has an error, or is strict and has a skipped rule.
        elapsed_s: Duration in seconds.
        targets: The result of each target, in the order in which they were named; in a folder, ordered by path.
        others: How many scripts and notebooks of the folders use none of the libraries.
        passed_over: Files of the folders that could not be checked.
        statistics: The number of findings by rule; present with `--statistics`.
    """

    verb: Literal["check"]
    verdict: TargetVerdict
    elapsed_s: float
    targets: Sequence[TargetResult]
    others: int
    passed_over: Sequence[UncheckedFile]
    statistics: Sequence[RuleCount] | None = None

    @property
    def exit_code(self) -> int:
        """1 where the verdict is `fail`."""
        return int(self.verdict == "fail")

    @property
    def findings(self) -> Iterator[ReportedFinding]:
        """The findings of every target."""
        return (finding for target in self.targets for finding in target.findings)
