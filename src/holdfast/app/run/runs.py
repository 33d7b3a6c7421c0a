"""One run, connected to its ledger, its backend and this machine."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.resolved import note_versions
from holdfast.adapters.storage.retrieved_copies import RetrievedCopies
from holdfast.adapters.storage.run_folder import is_supervised, load_plan
from holdfast.adapters.storage.run_log import log_events, log_to_run
from holdfast.adapters.storage.shared_output import SharedOutput
from holdfast.app.models.delivering import verify_push
from holdfast.app.run.attempting import prepare_attempt
from holdfast.app.run.backends import attach_backend, open_backend
from holdfast.app.run.costs import budget_of
from holdfast.app.run.notifying import telling
from holdfast.app.run.observers import RunObserver
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import (
    Closed,
    Diagnosed,
    Event,
    Liveness,
    ModelEvaluated,
    ModelExported,
    Polled,
    Refuser,
    RunRequested,
    RunStage,
)
from holdfast.core.run.plan import Plan
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.recover.replanning import remedied_job
from holdfast.engine.recover.spoilt_steps import ends_spikes
from holdfast.engine.run.drive import Dependencies, drive
from holdfast.engine.run.retrieved_output import RetrievedOutput
from holdfast.engine.run.supervise import Limits
from holdfast.engine.run.watch import watch_run
from holdfast.ports import AttemptOutput, Backend

DiagnoseAttempt = Callable[["Run", int, float], Diagnosed]
"""Finds out why an attempt of a run failed, given its number and the time."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was requested.

    Attributes:
        name: Its name, which is also its folder's.
        folder: Its folder, absolute.
        ledger: The ledger with its events.
        secrets: Values of the secrets that its job gives, by variable.
    """

    name: str
    folder: Path
    ledger: Ledger
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def state(self) -> RunState:
        """Return the run's state, from its ledger."""
        return fold(self.ledger.outline(self.name))

    def events(self) -> list[Event]:
        """The run's events, from its ledger."""
        return [event for _, event in self.ledger.read(self.name)]

    def supervise(self, observer: RunObserver, diagnose: DiagnoseAttempt) -> RunState:
        """Supervise the run until it ends or the person detaches; return its state.

        Args:
            observer: Follows the run.
            diagnose: Finds out why an attempt failed.
        """
        plan, clock = load_plan(self.folder), SystemClock()

        environment = {**os.environ, **self.secrets}

        def look(state: RunState, events: Sequence[Event]) -> None:
            log_events(events)
            note_versions(self.folder, events)
            observer.observe(self, state, events)

        backend = open_backend(plan, environment)
        output = open_output(backend, self.folder)
        dependencies = Dependencies(
            store=self.ledger,
            backend=backend,
            output=output,
            clock=clock,
            prepare=lambda number, resume: prepare_attempt(
                self.folder, self.events(), plan, output, number, resume=resume
            ),
            diagnose=lambda attempt, now_s: diagnose(self, attempt, now_s),
            verify=verify_push,
            evaluate=lambda heed: self._evaluate(plan, heed, observer),
            export=lambda heed: self._export(plan, heed, observer),
            orders=observer,
            observe=look,
            plan=plan,
        )
        date = time.strftime("%Y%m%d", time.localtime(clock.now_s()))
        with log_to_run(self.folder, date), telling(plan, environment) as tell:
            limits = Limits(
                attempts=plan.attempts,
                timeout_s=plan.timeout_s,
                poll_s=backend.capabilities.poll_s,
                evaluates=bool(plan.evaluations),
                exports=bool(plan.gguf),
                ends_spikes=ends_spikes(remedied_job(plan, ())),
                stall_s=plan.stall_timeout_s,
                budget=budget_of(plan),
            )
            return drive(self.name, limits, replace(dependencies, tell=tell))

    def counted_until_s(self, state: RunState) -> float:
        """Return the Unix time until which the newest attempt counts: now, or its last sign of life if it died with its supervisor."""
        now_s, current = SystemClock().now_s(), state.current
        if current is None or state.stage.ended or is_supervised(self.folder):
            return now_s
        polled = poll_attempt(current, now_s)
        return polled.over_s if polled else now_s

    def watch(self, observer: RunObserver) -> RunState:
        """Follow the run until it ends or has no supervisor; return its state."""
        return watch_run(
            self.name,
            self.ledger,
            SystemClock(),
            observe=lambda state, events: observer.observe(self, state, events),
            goes_on=lambda: is_supervised(self.folder),
        )

    def close(self, stage: RunStage, because: str) -> None:
        """Record the end of a run that was never started."""
        self.ledger.append(self.name, [Closed(at_s=SystemClock().now_s(), stage=stage, because=because)])

    def reopen(self) -> None:
        """Record that a run without an attempt is continued."""
        state = self.state()
        if state.stage.ended or state.stop:
            requested = RunRequested(at_s=SystemClock().now_s(), folder=str(self.folder), about=state.about)
            self.ledger.append(self.name, [requested])

    def refuse(self, by: Refuser, because: str, codes: Sequence[str]) -> None:
        """Record that the run was refused before its start."""
        now_s = SystemClock().now_s()
        closed = Closed(at_s=now_s, stage=RunStage.FAILED, because=because, refused_by=by, codes=tuple(codes))
        self.ledger.append(self.name, [closed])

    def _evaluate(self, plan: Plan, heed: Callable[[], None], observer: RunObserver) -> ModelEvaluated:
        from holdfast.app.run.evaluating import evaluate_final  # few jobs evaluate

        return evaluate_final(self.folder, plan.evaluations, heed, observer.on_evaluation_progress)

    def _export(self, plan: Plan, heed: Callable[[], None], observer: RunObserver) -> ModelExported:
        from holdfast.app.run.exporting import export_final  # few jobs export

        return export_final(self.folder, plan, heed, observer.on_export_progress)


def poll_attempt(attempt: AttemptState, now_s: float) -> Polled | None:
    """Return the end of an attempt without a supervisor; None if it is not known to have ended, or if looking takes a service."""
    backend = attach_backend(attempt.backend)
    if backend.retrieval is not None:  # polling it takes long, and may cost
        return None
    look = backend.poll(attempt.id)
    if look.answer is not Liveness.ENDED:
        return None
    return Polled(
        at_s=now_s,
        attempt=attempt.number,
        answer=look.answer,
        exit_code=look.exit_code,
        because=look.because,
        ended_s=look.ended_s,
    )


def open_output(backend: Backend, folder: Path) -> AttemptOutput:
    """Return the output of the attempts of a run.

    In both cases, logs and files are then in the run's folder, and events in the ledger. So no verb asks the backend for them.

    Args:
        backend: Where the attempts run.
        folder: The run's folder on this machine.
    """
    if backend.retrieval is None:
        return SharedOutput(folder)
    return RetrievedOutput(backend.retrieval, RetrievedCopies(folder))


def with_unread(folder: Path, state: RunState, *, supervised: bool) -> RunState:
    """Return the state of a run, including what its training process wrote after its supervisor ended, and its end."""
    if supervised or state.stage.ended or state.current is None:
        return state
    ended = poll_attempt(state.current, SystemClock().now_s()) if state.current.id else None
    read = SharedOutput(folder).read(state.current, state.seen_s, ended=ended is not None)
    return fold((*read.events, *([ended] if ended else [])), state)
