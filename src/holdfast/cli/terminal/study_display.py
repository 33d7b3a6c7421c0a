"""The terminal while a study runs: one line for each trial that starts or ends, and Ctrl-C."""

import sys

import click

from holdfast.cli.output import shown
from holdfast.cli.terminal.ordered_display import OrderedDisplay
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.engine.study.answers import trial_stage
from holdfast.engine.study.headline import describe_remaining, spell_settings
from holdfast.engine.units import render_counted, render_duration, render_number
from holdfast.results.study import StudyEstimate


class StudyDisplay(OrderedDisplay):
    """Shows a study on standard error as it goes, and hears Ctrl-C: the first stops the trials after they save, the second ends them.

    Args:
        quiet: Show nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._trials = self._ended = 0

    def confirm(self, question: str) -> bool:
        """Ask the person at the terminal; return False if there is none."""
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        return click.confirm(shown(question), err=True)

    def on_progress(self, said: str) -> None:
        """Show what is done before a trial starts, unless every line would be kept."""
        if self._console.is_terminal:
            self._print(f"{said} …", dim=True)

    def on_planned(self, trials: int, remaining: StudyEstimate) -> None:
        """Show what is left to run."""
        self._trials = trials
        self._ended = trials - remaining.trials
        done = f", {self._ended} have run" if self._ended else ""
        self._print(
            f"{render_counted(trials, 'trial')}{done}; {'; '.join(describe_remaining(remaining)) or 'none to run'}"
        )

    def on_started(self, trial: Trial, run: str, *, continued: bool) -> None:
        """Show the start of a trial."""
        verb = "goes on" if continued else "starts"
        self._print(f"trial {trial.number} {verb}: {spell_settings(trial.values)} ({run})", dim=True)

    def on_ended(self, outcome: TrialOutcome) -> None:
        """Show the end of a trial."""
        self._ended += 1
        stage = trial_stage(outcome)
        because = outcome.pruned or outcome.because or stage
        result = f" {render_number(outcome.value)}" if outcome.value is not None else f": {because}"
        took = f" in {render_duration(outcome.seconds)}" if outcome.seconds else ""
        self._print(f"trial {outcome.trial.number} {stage}{result}{took} ({self._ended} of {self._trials})")

    def is_preparing(self, *, preparing: bool) -> None:
        """Let Ctrl-C interrupt what is done before a trial starts."""
        self._orders.supervising = not preparing
