"""A run of the twin that a fault strikes: the supervisor of real runs decides, the rehearsal's server plays what it starts."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from holdfast.app.attempt_ending import read_ending_of
from holdfast.app.rehearse.faults.attempts import as_attempt
from holdfast.app.rehearse.faults.twin_backend import NoOrders, PlayedAttempt, SimulatedClock, TwinBackend, TwinLedger
from holdfast.core.rehearse.rehearsal import LearntFigures, PartResult
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.checkpoint import describe_damage
from holdfast.core.run.event import Diagnosed, ModelEvaluated, ModelExported, RunRequested, RunStage, training_events
from holdfast.core.run.plan import Attempt, Plan
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import RunState, fold
from holdfast.core.run.training_event import CheckpointSaved
from holdfast.engine.diagnose.attempts import (
    Ending,
    attempt_evidence,
    failed_rank,
    reported_training,
    where_it_began,
)
from holdfast.engine.diagnose.history import RunHistory
from holdfast.engine.diagnose.likeliest import likeliest_cause
from holdfast.engine.faults.kinds import FaultKind
from holdfast.engine.recover.batches import BATCH, EVAL_BATCH
from holdfast.engine.recover.checkpoints import usable_steps
from holdfast.engine.recover.replanning import remedied_plan
from holdfast.engine.rehearse.tracebacks import without_own_frames
from holdfast.engine.run.delivery import Delivery
from holdfast.engine.run.drive import Dependencies, drive
from holdfast.engine.run.supervise import Limits
from holdfast.payload.rehearsal.part_request import Fault, PartRequest

RUN: Final = "twin"
POLL_S: Final = 30.0
PlayPart = Callable[[PartRequest], PartResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinJob:
    """The job whose twin runs.

    Attributes:
        plan: Its plan.
        about: The request that a run of it would be made with.
        part_request: What all parts share; its folder is that of the bench.
        learnt: The sizes of the job.
    """

    plan: Plan
    about: RequestedJob
    part_request: PartRequest
    learnt: LearntFigures


@dataclass(slots=True, kw_only=True)
class TwinRun:
    """A run whose first attempt a fault struck.

    Attributes:
        job: The job.
        kind: The fault.
        first: The part that it struck.
        play: Plays another part.
        ledger: The events of the run.
    """

    job: TwinJob
    kind: FaultKind
    first: PartResult
    play: PlayPart
    ledger: TwinLedger = field(default_factory=TwinLedger)
    _parts: list[tuple[Path, PartResult]] = field(default_factory=list)
    _backend: TwinBackend | None = None
    _clock: SimulatedClock = field(default_factory=SimulatedClock)

    @property
    def folder(self) -> Path:
        """The folder of all its parts."""
        return Path(self.job.part_request.folder, self.kind.name)

    @property
    def last(self) -> PartResult:
        """The part that was played last."""
        return self._parts[-1][1]

    @property
    def state(self) -> RunState:
        """The run's state."""
        return fold(self.ledger.events)

    def supervise(self) -> RunState:
        """Supervise the run until it is closed, as `holdfast run` does; called again, as `holdfast resume` does."""
        if self._backend is None:
            capabilities = capabilities_of(self.job.plan.backend)
            self._backend = TwinBackend(capabilities, self._play, self._clock, self.folder)
            requested = RunRequested(at_s=self._clock.now_s(), folder=str(self.folder), about=self.job.about)
            self.ledger.append(RUN, [requested])
        plan = self.job.plan
        dependencies = Dependencies(
            store=self.ledger,
            backend=self._backend,
            output=self._backend,
            clock=self._clock,
            prepare=self._prepare,
            diagnose=self.diagnose,
            verify=self._verify,
            evaluate=lambda _: ModelEvaluated(at_s=self._clock.now_s(), verdict="skipped"),
            export=lambda _: ModelExported(at_s=self._clock.now_s(), verdict="skipped"),
            orders=NoOrders(),
            observe=lambda _state, _events: None,
            plan=plan,
        )
        return drive(RUN, Limits(attempts=plan.attempts, poll_s=POLL_S, stall_s=plan.stall_timeout_s), dependencies)

    def newest_checkpoint(self) -> tuple[str | None, tuple[str, ...]]:
        """Return the newest complete checkpoint that the run can continue from, and what is damaged in newer ones."""
        current = self.state.current
        saved = {
            str(Path(each.path).parent) for each in training_events(self.ledger.events, CheckpointSaved) if each.path
        }
        if self._backend is None or current is None:
            return None, ()
        newest, passed_over = self._backend.newest_checkpoint(current, saved, usable_steps(self.ledger.events).has)
        return newest, tuple(map(describe_damage, passed_over))

    def diagnose(self, attempt: int, now_s: float) -> Diagnosed:
        """Return the likeliest cause of the newest attempt's failure, from its log, its stacks and the ledger."""
        played, state, ending = self.last, self.state, self._ending()
        known, evidence = attempt_evidence(state, ending)
        history = RunHistory(
            files=[*((name, iter([text.encode()])) for name, text in played.logs.items() if text), *known],
            declared=reported_training(self.ledger.events, self.job.plan.script, self.job.about.method or ""),
            knows=evidence,
            standstill=where_it_began(state, ending),
            rank=failed_rank(state, ending),
            changed=bool(state.remedies),
        )
        return likeliest_cause(history, attempt, now_s)

    def _ending(self) -> Ending:
        """Return what was left of the newest attempt."""
        folder, played = self._parts[-1]
        left = read_ending_of(folder / "attempt")
        is_here = capabilities_of(self.job.plan.backend).is_here
        return replace(
            left,
            oom_kills=0 if is_here else None,
            stacks=without_own_frames(played.stacks),
            stacks_path="stacks.txt",
            stacks_of_ranks={rank: without_own_frames(text) for rank, text in left.stacks_of_ranks.items()},
            launcher="\n".join(played.logs.values()) if left.ranks else "",
        )

    def _prepare(self, number: int, resume: bool) -> Attempt:  # noqa: FBT001 - as the loop calls it
        plan = remedied_plan(self.job.plan, self.state.remedies)
        checkpoint, passed_over = self.newest_checkpoint() if resume else (None, ())
        folder = str(self.folder / ("stop" if number == 1 else f"resume-{number}"))
        return Attempt(
            run=RUN, number=number, folder=folder, plan=plan, resume_from=checkpoint, passed_over=passed_over
        )

    def _play(self, attempt: Attempt) -> PlayedAttempt:
        folder = Path(attempt.folder)
        played = self.first if attempt.number == 1 else self.play(self._request(attempt))
        self._parts.append((folder, played))
        has_gpu = self.job.part_request.gpu == "assumed"
        return as_attempt(played, folder, self.job.learnt, has_gpu=has_gpu)

    def _request(self, attempt: Attempt) -> PartRequest:
        """Return the request for an attempt that follows: the rendered script with its remedies, at the size of the twin."""
        request, remedies = self.job.part_request, self.state.remedies
        divided = {change.key: int(change.before) // int(change.after) for each in remedies for change in each.changes
                   if change.key in (f"train.{BATCH}", f"train.{EVAL_BATCH}")}  # fmt: skip
        fault, fits = self._what_is_left()
        return replace(
            request,
            part="resume",
            source=attempt.plan.script,
            variables=tuple({**dict(request.variables), **attempt.plan.variables}.items()),
            folder=attempt.folder,
            resume=attempt.resume_from or "",
            before=str(self._parts[-1][0]),
            fault=fault,
            fits=fits,
            batch_parts=divided.get(f"train.{BATCH}", 1),
            eval_parts=divided.get(f"train.{EVAL_BATCH}", 1),
        )

    def _what_is_left(self) -> tuple[Fault, int]:
        """Return the fault that the next attempt meets, and the memory that it has: half of what the first one needed."""
        if self.kind.passes:
            return "", 0
        rate_changed = any(
            change.key == "train.learning_rate" for each in self.state.remedies for change in each.changes
        )
        return "" if rate_changed else self.kind.name, int(self.first.first("fault").get("needs", 0)) // 2

    def _verify(self, repository: str, _state: RunState) -> Delivery:
        """Return whether the dry Hub has what was pushed to a repository."""
        commits = [each for each in self.last.facts("push") if each.get("action") == "commit"]
        if any(each.get("repository") == repository for each in commits):
            return Delivery("arrived")
        return Delivery("missing", f"nothing has arrived at {repository}")


def has_ended_well(state: RunState) -> bool:
    """Whether a run has come to its end."""
    return state.stage is RunStage.SUCCEEDED
