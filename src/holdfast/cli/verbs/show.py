"""`holdfast show`."""

import click

from holdfast.app.show.verb import show
from holdfast.cli import options
from holdfast.cli.text.answers import render_show


@click.command("show")
@options.run
@options.runs
@options.format_
def command(run: str, runs: str | None, format_: str) -> int:
    """Show the status and the result of a run."""
    options.print_result(show(run, runs=runs), format_, render_show)
    return 0
