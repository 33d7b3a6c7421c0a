"""`holdfast stop`."""

import click

from holdfast.app.stop.verb import stop
from holdfast.cli import options
from holdfast.cli.terminal.display import RunDisplay
from holdfast.cli.text.answers import render_run


@click.command("stop")
@options.run
@options.runs
@options.quiet
@options.format_
def command(run: str, runs: str | None, quiet: bool, format_: str) -> int:
    """Stop a run after it saves a checkpoint.

    A second `stop` kills a training that hangs. `holdfast resume` continues the run.
    """
    with RunDisplay(quiet=quiet) as display:
        answer = stop(run, runs=runs, observer=display)
    options.print_result(answer, format_, render_run)
    return 0
