"""The result of `rehearse`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from holdfast.core.check.finding import Severity
from holdfast.core.job.scenario import ScenarioChoices
from holdfast.core.rehearse.rehearsal import Blame, LearntFigures, StageName, Status
from holdfast.core.rehearse.rehearsed_fault import RehearsedFault
from holdfast.results import Result, ResultPart
from holdfast.results.check import TargetVerdict


class ReportedStage(ResultPart, frozen=True, kw_only=True):
    """A stage of the path.

    Attributes:
        name: The stage.
        status: `not_rehearsed` if no part of it ran, which is not a pass.
        elapsed_s: Seconds spent in it.
        because: Why it failed, or why it did not run.
        missed: Whether it did not run though the job would reach it.
    """

    name: StageName
    status: Status
    elapsed_s: float
    because: str | None
    missed: bool = False


class OutputLine(ResultPart, frozen=True, kw_only=True):
    """A line that a rehearsal's process wrote.

    Attributes:
        path: The file: `stderr.log`.
        line: Counted from 1.
        text: The line.
    """

    path: str
    line: int
    text: str


class RehearsalFailure(ResultPart, frozen=True, kw_only=True):
    """Why a rehearsal failed.

    Attributes:
        name: The class of failure. In JSON: `class`.
        title: What is wrong, in one line.
        stage: Where it failed.
        confidence: Between 0 and 1.
        evidence: The lines that show it, the decisive one first.
        cause: Why it happens.
        fix: How to fix it.
        where: The user's own line, as `train.py:12`.
        function: The user's own function that the line is in.
        role: The role of the function for the library that calls it: `callback`, `reward`.
        code: The line's text.
        key: The key of the job file that is at fault.
        over: The limit that was exceeded, in words; null if it failed by itself.
        refuses: Whether `run` refuses the job for it.
        blame: Whether data, model or code is at fault; `unknown` if it was not determined.
        blamed_because: The evidence for `blame`.
        prevented_by: Rules of `check` that find it without a rehearsal.
    """

    name: str = field(name="class")
    title: str
    stage: StageName
    confidence: float
    evidence: Sequence[OutputLine]
    cause: str
    fix: str
    where: str | None
    function: str | None
    role: str | None
    code: str | None
    key: str | None
    over: str | None
    refuses: bool
    blame: Blame
    blamed_because: str | None
    prevented_by: Sequence[str]


class RehearsalWarning(ResultPart, frozen=True, kw_only=True):
    """Something that may be wrong, in a job that may still be useful.

    Attributes:
        code: The rule, or the class of failure that it may be.
        severity: `info` for a useful fact, else `warning`.
        stage: The stage that it concerns.
        message: What may be wrong.
    """

    code: str
    severity: Severity
    stage: StageName
    message: str


class NotRehearsed(ResultPart, frozen=True, kw_only=True):
    """Something of the job that was not rehearsed.

    Attributes:
        what: What it is.
        because: Why not, and how to test it.
    """

    what: str
    because: str


class ShrunkSetting(ResultPart, frozen=True, kw_only=True):
    """Something that was made smaller for the rehearsal.

    Attributes:
        what: The setting, or a description.
        asked: The job's own value.
        given: The value in the rehearsal.
    """

    what: str
    asked: Any
    given: Any


class ReportedSandbox(ResultPart, frozen=True, kw_only=True):
    """The sandbox that the script ran in.

    Attributes:
        active: Whether the kernel confined it; if not, guards in Python alone did.
        because: Why there was no sandbox; null if there was one.
    """

    active: bool
    because: str | None


class RehearseResult(Result, frozen=True, kw_only=True):
    """The result of a rehearsal.

    Attributes:
        verdict: `fail` if a stage failed; with `--strict`, also if a stage was missed or nothing beyond `import` ran.
        path: The target.
        elapsed_s: Duration in seconds.
        stages: Each stage once, in the order of the path.
        failure: The failure that stopped it; null if it passed.
        failures: All failures, that one included.
        warnings: Everything that may be wrong.
        not_rehearsed: Everything that was not rehearsed.
        shrunk: Everything that was made smaller.
        learnt: Figures of the job at its full size.
        versions: Versions of the libraries that it ran with, by package.
        isolated: Whether `--isolate` was given.
        sandbox: The sandbox that the script ran in; null if nothing ran.
        faults: What becomes of the training after each fault of `--faults`; empty if the rehearsal failed before. Present with that option.
        scenario: What the scenario of the job changed in it; absent if it names none.
    """

    verb: Literal["rehearse"]
    verdict: TargetVerdict
    path: str
    elapsed_s: float
    stages: Sequence[ReportedStage]
    failure: RehearsalFailure | None
    failures: Sequence[RehearsalFailure]
    warnings: Sequence[RehearsalWarning]
    not_rehearsed: Sequence[NotRehearsed]
    shrunk: Sequence[ShrunkSetting]
    learnt: LearntFigures
    versions: Mapping[str, str]
    isolated: bool
    sandbox: ReportedSandbox | None = None
    faults: Sequence[RehearsedFault] | UnsetType = UNSET
    scenario: ScenarioChoices | None = None

    @property
    def exit_code(self) -> int:
        """1 where the verdict is `fail`."""
        return int(self.verdict == "fail")
