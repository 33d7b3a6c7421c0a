"""One run, connected to its ledger, its backend and this machine."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from holdfast.adapters.backends.local import LocalBackend
from holdfast.adapters.clock import SystemClock
from holdfast.adapters.environment.interpreters import select_interpreter
from holdfast.adapters.payload import load_runtime
from holdfast.adapters.storage.checkpoints import newest_whole
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.resolved import note_versions
from holdfast.adapters.storage.run_folder import is_supervised, load_plan, write_whole
from holdfast.adapters.terminal.logs import log_events, log_to_run
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.run.delivering import verify_push
from holdfast.core.checkpoint import describe_damage
from holdfast.core.errors import UsageError
from holdfast.core.event import Closed, Event, Refuser, Reported, RunRequested, RunStage, RunState, fold
from holdfast.core.plan import Attempt, Plan
from holdfast.engine.run.attempt import render_attempt
from holdfast.engine.run.supervise import Dependencies, Limits, drive
from holdfast.engine.run.watch import watch_run
from holdfast.ports import Backend, Order
from holdfast.results.check import CheckResult


@dataclass(frozen=True, slots=True)
class Run:
    """A run that somebody asked for.

    Attributes:
        name: Its name, which is its folder's.
        folder: Its folder, absolute.
        ledger: Where its events are.
        secrets: Values of secrets that its job gives, by their variables.
    """

    name: str
    folder: Path
    ledger: Ledger
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def state(self) -> RunState:
        """Return the run's present state from its ledger."""
        return fold(self.ledger.outline(self.name))

    def supervise(self, observer: "RunObserver") -> RunState:
        """Bring it to its end, unless the person detaches."""
        plan, clock = load_plan(self.folder), SystemClock()

        def look(state: RunState, events: Sequence[Event]) -> None:
            log_events(events)
            note_versions(self.folder, events)
            observer.observe(self, state, events)

        dependencies = Dependencies(
            store=self.ledger,
            backend=open_backend(plan, {**os.environ, **self.secrets}),
            clock=clock,
            prepare=lambda number, resume: self._prepare(plan, number, resume=resume),
            verify=verify_push,
            orders=observer,
            observe=look,
        )
        with log_to_run(self.folder, time.strftime("%Y%m%d", time.localtime(clock.now_s()))):
            return drive(self.name, Limits(timeout_s=plan.timeout_s), dependencies)

    def watch(self, observer: "RunObserver") -> RunState:
        """Look on until it has ended, or until nobody supervises it."""
        return watch_run(
            self.name,
            self.ledger,
            SystemClock(),
            observe=lambda state, events: observer.observe(self, state, events),
            goes_on=lambda: is_supervised(self.folder),
        )

    def close(self, stage: RunStage, because: str) -> None:
        """Write down how it ended that never started."""
        self.ledger.append(self.name, [Closed(at_s=SystemClock().now_s(), stage=stage, because=because)])

    def reopen(self) -> None:
        """Write down that a run which has no attempt is taken up again."""
        state = self.state()
        if state.stage.ended or state.stop:
            asked = RunRequested(at_s=SystemClock().now_s(), folder=str(self.folder), about=state.about)
            self.ledger.append(self.name, [asked])

    def refuse(self, by: Refuser, because: str, codes: Sequence[str] = ()) -> None:
        """Write down what forbade it before it was started."""
        now_s, told = SystemClock().now_s(), tuple(codes)
        closed = Closed(at_s=now_s, stage=RunStage.FAILED, because=because, refused_by=by, codes=told)
        self.ledger.append(self.name, [closed])

    def _prepare(self, plan: Plan, number: int, *, resume: bool) -> Attempt:
        """Make an attempt's folder, and find the checkpoint that it continues from."""
        folder = self.folder / "attempts" / str(number)
        write_whole(folder / "attempt.py", render_attempt(plan.script, plan.script_name, load_runtime()))
        checkpoint, passed_over = self._newest_checkpoint() if resume else (None, ())
        return Attempt(
            run=self.name,
            number=number,
            folder=str(folder),
            plan=plan,
            resume_from=checkpoint,
            passed_over=passed_over,
        )

    def _newest_checkpoint(self) -> tuple[str | None, tuple[str, ...]]:
        """Return the newest whole checkpoint in any folder that the run has saved one in, and what is wrong with newer ones."""
        saved = {
            str(Path(event.said["path"]).parent)
            for _, event in self.ledger.read(self.name)
            if isinstance(event, Reported) and event.said.get("event") == "checkpoint"
        }
        folders = {*saved, *map(str, self.folder.glob("checkpoints/*"))}
        found = [newest_whole(Path(folder)) for folder in sorted(folders)]
        newest = max((str(path) for path, _ in found if path), key=_step, default=None)
        damaged = [each for _, passed_over in found for each in passed_over]
        newer = [each for each in damaged if newest is None or _step(each.path) > _step(newest)]
        return newest, tuple(describe_damage(each) for each in newer)


class RunObserver(Protocol):
    """Follows a run while it is supervised, and may stop it or detach from it."""

    def on_checked(self, check: CheckResult) -> None:
        """Receive the answer of `check` for a job that is about to run."""
        ...

    def on_rehearsal_progress(self, said: str) -> None:
        """Receive a few words on each step of the rehearsal before a run."""
        ...

    def observe(self, run: Run, state: RunState, events: Sequence[Event]) -> None:
        """Receive the run's state, and its events since the last call."""
        ...

    def take(self) -> Order | None:
        """The order given since the last call; each order is returned once."""
        ...

    def has_left(self) -> bool:
        """Whether a person chose to detach: the run is then supervised in the background."""
        ...


class NullObserver:
    """Ignores all that it receives, and gives no orders."""

    def on_checked(self, check: CheckResult) -> None:
        """Do nothing."""

    def on_rehearsal_progress(self, said: str) -> None:
        """Do nothing."""

    def observe(self, run: Run, state: RunState, events: Sequence[Event]) -> None:
        """Do nothing."""

    def take(self) -> None:
        """Give no order."""

    def has_left(self) -> bool:
        """Never."""
        return False


NO_OBSERVER = NullObserver()


def _step(checkpoint: str) -> int:
    return int(checkpoint.rpartition("-")[2])


def open_run(name: PathName, runs: PathName | None) -> Run:
    """Return a run by its name, or by the beginning of it where only one run's begins so.

    Raises:
        UsageError: There is none, or more than one.
    """
    base = runs_folder(runs)
    ledger = Ledger(base)
    known = ledger.runs()
    wanted = Path(name).name  # a folder's path is as good
    if not wanted:
        raise UsageError("the run has no name", where=str(base), fix="`holdfast runs` lists the runs")
    found = [run for run in known if run == wanted] or [run for run in known if run.startswith(wanted)]
    if len(found) != 1:
        near = found or get_close_matches(wanted, known, n=3)
        what = f"{len(found)} runs begin with {wanted!r}" if found else f"no run is called {wanted!r}"
        hint = f"one of {', '.join(near)}" if near else "`holdfast runs` lists them; --runs names their folder"
        raise UsageError(what, where=str(base), fix=hint)
    return Run(name=found[0], folder=base / found[0], ledger=ledger)


def require_backend(name: str) -> None:
    """Refuse the name of a backend that there is not.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in BACKENDS:
        fix = f"choose one of {', '.join(BACKENDS)}"
        raise UsageError(f"no backend is called {name!r}", where="where.backend", fix=fix)


def open_backend(plan: Plan, environment: Mapping[str, str]) -> Backend:
    """Return the backend a plan runs on, with the environment its attempts inherit.

    Raises:
        UsageError: There is no such backend, a secret is not set, or nothing here can run the script.
    """
    require_backend(plan.backend)
    if missing := [name for name in plan.secrets if not environment.get(name)]:
        fix = f"export {missing[0]}=…; a run keeps the names of its secrets, not their values"
        raise UsageError(f"secrets are not set: {', '.join(missing)}", where="the environment", fix=fix)
    return BACKENDS[plan.backend](plan, environment)


def attached_backend(name: str) -> Backend:
    """Return a backend for attempts that were started already.

    Raises:
        UsageError: There is none of that name.
    """
    require_backend(name)
    return BACKENDS[name](None, os.environ)


def _open_local(plan: Plan | None, environment: Mapping[str, str]) -> LocalBackend:
    if plan is None:
        return LocalBackend((), environment)
    if unknown := sorted(plan.options.keys() - LocalBackend.options):
        fix = f"it has {', '.join(sorted(LocalBackend.options))}"
        raise UsageError(f"the local backend has no option {unknown[0]!r}", where="where.options", fix=fix)
    interpreter = select_interpreter(str(Path(plan.cwd, plan.script_name)), plan.script, plan.options)
    return LocalBackend(interpreter, environment)


BACKENDS: Mapping[str, Callable[[Plan | None, Mapping[str, str]], Backend]] = {LocalBackend.name: _open_local}
"""Each opens its backend for a plan; without one, for attempts that were started already."""
