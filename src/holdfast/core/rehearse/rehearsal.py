"""Rehearsals: the result of each stage of a job's path on a tiny twin of its model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

from holdfast.core.check.finding import Severity
from holdfast.core.diagnose.diagnosis import Cause
from holdfast.core.rehearse.rehearsed_fault import RehearsedFault
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.core.run.event import EndReason
from holdfast.core.run.training_event import Heartbeat, TrainingEnded, TrainingEvent

StageName = Literal[
    "import", "data", "model", "tokenize", "step", "evaluate", "save", "stop", "resume", "push", "export"
]
STAGES: Final[tuple[StageName, ...]] = (
    "import", "data", "model", "tokenize", "step", "evaluate", "save", "stop", "resume", "push", "export",
)  # fmt: skip
Kind = TypeVar("Kind", bound=TrainingEvent)
Part = Literal["whole", "stop", "resume"]
Status = Literal["pass", "fail", "not_rehearsed"]
Blame = Literal["data", "model", "code", "unknown"]
EVENT_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "fact": frozenset({"about"}),
    "stage": frozenset({"name", "elapsed_s"}),
    "enter": frozenset({"name"}),
    "failed": frozenset({"stage", "error"}),
    "fault": frozenset({"class", "stage", "because", "evidence"}),
    "warning": frozenset({"class", "stage", "because"}),
    "not_rehearsed": frozenset({"what", "because"}),
    "out_of_reach": frozenset({"because"}),
    "shrunk": frozenset({"what", "asked", "given"}),
}
"""Keys that each kind of event has that the hooks write."""
ProcessEvent = Mapping[str, Any]
"""One event that the hooks of a process wrote, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """The result of one process of a rehearsal.

    Attributes:
        part: The part of the path.
        code: Its exit code; negative for a signal; None if a limit ended it.
        over: The limit that ended it, in words; empty if it ended by itself.
        hook_events: The hooks' events, in order; `payload/rehearsal/events.py` lists them.
        events: The runtime's events, as those of a real attempt.
        logs: Its output, by name: `stdout.log`, `stderr.log`.
        stacks: The stack of its main thread when it was ended.
        damage: The damage of the checkpoint that it left; empty if there is none.
        elapsed_s: Seconds from the fork to the end.
    """

    part: Part
    code: int | None
    over: str = ""
    hook_events: tuple[ProcessEvent, ...] = ()
    events: tuple[TrainingEvent, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict[str, str])
    stacks: str = ""
    damage: str = ""
    elapsed_s: float = 0.0

    def reported(self, event: str) -> tuple[ProcessEvent, ...]:
        """Return the hooks' records of one event, in order."""
        return tuple(each for each in self.hook_events if each["event"] == event)

    def facts(self, about: str) -> tuple[ProcessEvent, ...]:
        """Return the hooks' records about one thing, in order."""
        return tuple(each for each in self.reported("fact") if each["about"] == about)

    def first(self, about: str) -> ProcessEvent:
        """Return the first record about something; empty if there is none."""
        return next(iter(self.facts(about)), {})

    def happened(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Return the runtime's events of one kind, in order."""
        return tuple(event for event in self.events if isinstance(event, kind))

    @property
    def is_slow(self) -> bool:
        """Whether a limit ended it while it made progress: it wrote an event in the last third of its time."""
        times_s = [each["at"] for each in self.hook_events if "at" in each]
        times_s += [event.at for event in self.events if event.at is not None and not isinstance(event, Heartbeat)]
        return bool(self.over and times_s) and max(times_s) - min(times_s) > self.elapsed_s * 2 / 3

    @property
    def end(self) -> TrainingEnded:
        """The event with which the script ended; an empty one if there is none."""
        return next(iter(self.happened(TrainingEnded)), TrainingEnded())

    @property
    def exited(self) -> bool:
        """Whether the script ended itself with an error code, by `sys.exit`."""
        return self.end.reason == EndReason.EXIT


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """The result of one stage.

    Attributes:
        name: The stage.
        status: `not_rehearsed` if nothing of it was run, which is no pass.
        elapsed_s: Seconds spent in it.
        because: Why it failed, or why it was not rehearsed.
        missed: Whether it was not rehearsed although the job reaches it.
    """

    name: StageName
    status: Status
    elapsed_s: float = 0.0
    because: str | None = None
    missed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """Something that cannot be rehearsed on this machine.

    Attributes:
        what: What it is: `4-bit loading`.
        because: Why not, and how to test it.
    """

    what: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """Something that the rehearsal made smaller.

    Attributes:
        what: A setting, or what it is in words.
        asked: The script's value.
        given: The value in the rehearsal.
    """

    what: str
    asked: Any
    given: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """A fault in what the script gave its trainer, or in the result.

    Attributes:
        code: The rule of `check`, or the class of failure.
        message: The rule's message.
        stage: The stage that it belongs to.
        severity: An error fails the rehearsal.
    """

    code: str
    message: str
    stage: StageName
    severity: Severity = Severity.WARNING

    @property
    def fails(self) -> bool:
        """True if it fails the rehearsal."""
        return self.severity is Severity.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a rehearsal failed.

    Attributes:
        stage: The stage that failed.
        cause: The class, with its evidence and its fix in the script's own values.
        part: The process that raised it; None if nothing was raised.
        where: The user's own line: `train.py:12`, or the line of the job file's key; empty if there is none.
        function: The user's own function that the line stands in: `Log.on_log`; empty at the top of a file.
        role: What the function is to the library that calls it: `callback`; empty if the script calls it.
        code: The line's text.
        key: The key of the job file that is at fault, if that is known.
        rule: The rule whose objection it is; empty for a failure that was raised or measured.
        blame: Whether data, model or code is at fault; `unknown` until it was isolated.
        over: The limit that it exceeded, in words; empty if it failed by itself.
        blamed: The evidence for `blame`: the result with known-good rows or a known-good model.
    """

    stage: StageName
    cause: Cause
    part: Part | None = None
    where: str = ""
    function: str = ""
    role: str = ""
    code: str = ""
    key: str = ""
    over: str = ""
    rule: str = ""
    blame: Blame = "unknown"
    blamed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFigures:
    """Tokens of a row, or of a step.

    Attributes:
        mean: The mean.
        max: The maximum.
        p95: The 95th percentile; null if unknown.
    """

    mean: float
    max: float
    p95: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntFigures:
    """Figures of a job at its full size, on one process; null if a figure was not measured.

    Attributes:
        rows_per_step: Rows per optimizer step.
        completions_per_step: Completions per step, if the trainer generates.
        tokens_per_row: Tokens per row, after the trainer has cut the rows.
        tokens_per_step: Tokens per step: `mean` without padding, `max` with the most padding.
        steps_per_epoch: Optimizer steps per epoch.
        steps: Optimizer steps of the whole training.
        twin_step_s: Seconds that a step of the twin took.
        parameters: Parameters of the model.
        trained_parameters: How many of them are trained.
        checkpoint_bytes: The size of a checkpoint: the model or the adapter, and its optimizer.
    """

    rows_per_step: float | None = None
    completions_per_step: int | None = None
    tokens_per_row: TokenFigures | None = None
    tokens_per_step: TokenFigures | None = None
    steps_per_epoch: int | None = None
    steps: int | None = None
    twin_step_s: float | None = None
    parameters: int | None = None
    trained_parameters: int | None = None
    checkpoint_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The result of running a job end to end on a twin of its model.

    Attributes:
        stages: Each stage once, in the order of the path.
        failures: All failures; if one stopped the rehearsal, it is the first.
        warnings: Objections that do not fail the job.
        omitted: What could not be rehearsed.
        shrunk: What was made smaller.
        facts: The hooks' records of the script's requests to the libraries.
        versions: Releases by package.
        learnt: Figures of the job at its full size.
        training: What `plan` corrects its estimate with; None if there is nothing to correct it with.
        no_sandbox: Why there was no sandbox; empty if there was one; None if nothing was run.
        faults: The faults that were injected; None if none were requested.
    """

    stages: tuple[StageResult, ...]
    failures: tuple[Failure, ...] = ()
    warnings: tuple[Objection, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    shrunk: tuple[Shrunk, ...] = ()
    facts: tuple[Mapping[str, Any], ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    learnt: LearntFigures = LearntFigures()
    training: RehearsedTraining | None = None
    no_sandbox: str | None = None
    faults: tuple[RehearsedFault, ...] | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing failed. A stage that was not rehearsed neither failed nor passed."""
        return not self.failures and all(stage.status != "fail" for stage in self.stages)

    @property
    def complete(self) -> bool:
        """Whether a stage beyond `import` passed, and no stage was missed that the job reaches."""
        beyond = any(stage.status == "pass" and stage.name != "import" for stage in self.stages)
        return beyond and not any(stage.missed for stage in self.stages)
