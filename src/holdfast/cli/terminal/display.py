"""The terminal while a run goes on: shows the run, and takes the orders of the person who watches it."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.text import Text

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.storage.run_folder import Tail
from holdfast.adapters.terminal.keys import Keys
from holdfast.adapters.terminal.orders import SignalOrders
from holdfast.app.run.observers import ObservedRun
from holdfast.cli.output import shown
from holdfast.cli.terminal.ctrl_c import CtrlCQuestion
from holdfast.cli.terminal.live import LiveView
from holdfast.cli.terminal.ordered_display import OrderedDisplay
from holdfast.cli.terminal.seldom import SELDOM_S, SeldomLines
from holdfast.cli.text.findings import render_check
from holdfast.core.run.event import Event
from holdfast.core.run.run_state import RunState
from holdfast.results.check import CheckResult


class RunDisplay(OrderedDisplay):
    """Shows a run on standard error as it goes, and hears Ctrl-C.

    Args:
        quiet: Show nothing.
        listens: Whether signals become orders to the run; if not, Ctrl-C only ends the display.
    """

    def __init__(self, *, quiet: bool = False, listens: bool = True) -> None:
        super().__init__(quiet=quiet, listens=listens)
        self._view: LiveView | None = None
        self._tails: dict[tuple[int, str], Tail] = {}
        self._shown = ""
        self._evaluation: SeldomLines | None = None
        self._views = self._stack.enter_context(ExitStack())
        if sys.stdin.isatty() and self._console.is_terminal:
            self._orders = SignalOrders(CtrlCQuestion(Keys(sys.stdin.fileno()), self._ask))

    def on_checked(self, check: CheckResult) -> None:
        """Show the findings that do not keep the job from running, and the rules that were skipped."""
        if any(target.findings or target.skipped for target in check.targets):
            self._console.print(Text.from_ansi(shown(render_check(check))), soft_wrap=True)

    def on_scenario(self, said: str) -> None:
        """Show what the scenario of the job changed in it."""
        self._say("for", said)

    def on_planned(self, said: str) -> None:
        """Show what the job is estimated to need."""
        for line in said.splitlines():
            self._say("plan", line)

    def on_note(self, said: str) -> None:
        """Show a remark on the files that the run starts from."""
        self._say("note", said)

    def on_short_run(self, said: str) -> None:
        """Show what is said of the short run."""
        self._say("short run", said)

    def on_rehearsal_progress(self, said: str) -> None:
        """Show the progress of the rehearsal."""
        self._say("rehearsal", said)

    def on_export_progress(self, said: str) -> None:
        """Show the progress of the export: a line for each step."""
        self._say("export", said)

    def on_evaluation_progress(self, said: str) -> None:
        """Show the progress of the evaluation; where every line is kept, that it began and then a line now and then."""
        if self._evaluation is None:
            self._evaluation = SeldomLines(0.0 if self._console.is_terminal else SELDOM_S)
            self._say("evaluation", said)
        elif self._evaluation.is_due():
            self._say("evaluation", said)

    def observe(self, run: ObservedRun, state: RunState, events: Sequence[Event]) -> None:
        """Show what happened, and what the training process wrote meanwhile."""
        self._orders.supervising = True
        comes_late = self._view is None  # what the process wrote before is not shown
        if self._view is None or run.name != self._shown:  # a short run is followed by the job itself
            self._views.close()
            self._view = self._views.enter_context(LiveView(self._console, run.name, SystemClock().now_s))
            self._shown, self._tails = run.name, {}
        self._view.observe(state, events)
        if state.current:
            self._pass_on(run.folder, state.current.number, past=not comes_late)

    def has_left(self) -> bool:
        """True if the person chose to detach, and was not merely logged out."""
        return self._orders.interrupted

    def _say(self, what: str, said: str) -> None:
        self._print(f"{what}: {said}", dim=True)

    def _pass_on(self, folder: Path, attempt: int, *, past: bool) -> None:
        for stream in ("stdout", "stderr"):
            path = folder / "attempts" / str(attempt) / f"{stream}.log"
            tail = self._tails.setdefault((attempt, stream), Tail(path, past=past))
            if self._view and (news := tail.read()):
                self._view.write(stream, news)

    def _ask(self, question: str) -> None:
        if self._view:
            self._view.ask(question)
