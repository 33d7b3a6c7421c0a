"""`holdfast resume`."""

import click

from holdfast.app.run.verb import resume
from holdfast.cli import options
from holdfast.cli.terminal.display import RunDisplay
from holdfast.cli.text.answers import render_run


@click.command("resume")
@options.run
@options.detach
@options.runs
@options.quiet
@options.format_
def command(
    run: str,
    detach: bool,
    runs: str | None,
    quiet: bool,
    format_: str,
) -> int:
    """Continue a run from its newest complete checkpoint.

    If an attempt is still running, `resume` follows it instead of starting another.
    """
    with RunDisplay(quiet=quiet) as face:
        answer = resume(run, runs=runs, detach=detach, observer=face)
    return face.exit_code(options.put_out(answer, format_, render_run))
