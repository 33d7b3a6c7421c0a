"""`holdfast watch`."""

import click

from holdfast.app.watch.verb import watch
from holdfast.cli import options
from holdfast.cli.terminal.display import RunDisplay
from holdfast.cli.text.answers import render_run


@click.command("watch")
@options.run
@options.runs
@options.format_
def command(run: str, runs: str | None, format_: str) -> int:
    """Follow a run from any terminal.

    Ctrl-C ends the view, not the run.
    """
    with RunDisplay(listens=False) as display:
        answer = watch(run, runs=runs, observer=display)
    return options.print_result(answer, format_, render_run)
