"""`holdfast resume`."""

import click

from holdfast.app.resume.verb import resume
from holdfast.cli import options
from holdfast.cli.terminal.display import RunDisplay
from holdfast.cli.text.answers import render_run


@click.command("resume")
@options.run
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Continue with the settings because of which the last attempt did not continue from its checkpoint.",
)
@options.detach
@options.runs
@options.quiet
@options.format_
def command(run: str, accept_changes: bool, detach: bool, runs: str | None, quiet: bool, format_: str) -> int:
    """Continue a run from its newest complete checkpoint.

    If an attempt is still running, `resume` follows it instead of starting another.
    """
    with RunDisplay(quiet=quiet) as display:
        answer = resume(run, accept_changes=accept_changes, runs=runs, detach=detach, observer=display)
    return display.exit_code(options.print_result(answer, format_, render_run))
