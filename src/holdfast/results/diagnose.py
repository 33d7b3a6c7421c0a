"""The result of `diagnose`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import field

from holdfast.core.diagnose.diagnosis import Phase, Retry
from holdfast.core.run.event import RunStage
from holdfast.results import Result, ResultPart
from holdfast.results.refusal import RunRefusal


class ReportedEvidence(ResultPart, frozen=True, kw_only=True):
    """A line of a log that shows a cause.

    Attributes:
        path: The log.
        line: Counted from 1, by line feeds alone.
        text: The line, without escapes and progress bars.
        rank: The rank that wrote it, if known.
    """

    path: str
    line: int
    text: str
    rank: int | None


class RemedyEdit(ResultPart, frozen=True, kw_only=True):
    """A change of the job that removes a cause.

    Attributes:
        key: The dotted key of the job file.
        action: What to do with it.
        before: The current value; null if unknown. In JSON: `from`.
        after: The new value, or the new name; null if it depends on an unknown value. In JSON: `to`.
    """

    key: str
    action: Literal["halve", "double", "set", "add", "rename", "remove"]
    before: Any = field(name="from")
    after: Any = field(name="to")


class ReportedCause(ResultPart, frozen=True, kw_only=True):
    """A cause of a failure.

    Attributes:
        name: The class of failure. In JSON: `class`.
        title: What is wrong, in one line.
        phase: The part of a job in which it occurs.
        confidence: Between 0 and 1. `docs/figures.md` says how many of the answers with 0.9 or more are right.
        evidence: The lines that show it, the decisive one first.
        cause: Why it happens.
        fix: How to fix it.
        retry: Whether another attempt can help.
        remedy: The changes that fix it; null if none is known.
        prevented_by: Rules of `check` that find it before launch.
        inspected_by: Rules of `inspect` that find it in the data.
    """

    name: str = field(name="class")
    title: str
    phase: Phase
    confidence: float
    evidence: Sequence[ReportedEvidence]
    cause: str
    fix: str
    retry: Retry
    remedy: Sequence[RemedyEdit] | None
    prevented_by: Sequence[str]
    inspected_by: Sequence[str]


class DiagnosedJob(ResultPart, frozen=True, kw_only=True):
    """The job file or script that was read with the logs.

    Attributes:
        path: Its path.
        unread: Why it could not be read; null if it was read.
    """

    path: str
    unread: str | None


class EarlierAttempt(ResultPart, frozen=True, kw_only=True):
    """How an attempt before the newest one ended.

    Attributes:
        number: Counted from 1.
        stage: Its stage.
        because: Why it failed; empty if it did not.
        name: The class of its failure; null if none was found. In JSON: `class`.
    """

    number: int
    stage: RunStage
    because: str
    name: str | None = field(name="class")


class DiagnoseResult(Result, frozen=True, kw_only=True):
    """The causes of a failed job.

    Attributes:
        verdict: `unknown` if the logs do not show the cause.
        causes: The causes, the most likely first. Of a run that was refused, only a class that its refusal names.
        missing: What to read to find the cause: another log, `dmesg`.
        quiet: Whether nothing in the logs shows a failure.
        paths: The logs.
        lines: How many lines they have.
        versions: Versions of the libraries that the logs show, by package.
        running: The run, if it is still running.
        job: The job file or script that was read with them.
        run: The run that was diagnosed; absent if logs were named.
        refused_by: What refused the run before its start; absent if nothing did.
        refusal: Why it was refused; absent if it was not.
        namesake: The run of the same name, if a file or folder that is called so was read instead; absent if there is none.
        earlier: The attempts of the run before the newest one, which alone is diagnosed; absent if there are none.
    """

    verb: Literal["diagnose"]
    verdict: Literal["diagnosed", "healthy", "unknown"]
    causes: Sequence[ReportedCause]
    missing: Sequence[str]
    quiet: bool
    paths: Sequence[str]
    lines: int
    versions: Mapping[str, str]
    running: str | None
    job: DiagnosedJob | None
    run: str | None = None
    refused_by: Literal["check", "rehearsal"] | None = None
    refusal: Sequence[RunRefusal] = ()
    namesake: str | None = None
    earlier: Sequence[EarlierAttempt] = ()

    @property
    def exit_code(self) -> int:
        """1 where the cause is unknown."""
        return int(self.verdict == "unknown")
