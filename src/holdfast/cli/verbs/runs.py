"""`holdfast runs`."""

import click

from holdfast.app.run.queries import runs as list_runs
from holdfast.cli import options
from holdfast.cli.output import echo_json
from holdfast.cli.text.answers import render_runs
from holdfast.results import to_json


@click.command("runs")
@options.runs
@options.format_
def command(runs: str | None, format_: str) -> int:
    """List runs.

    With `--format json`, print one object per line.
    """
    answer = list_runs(runs=runs)
    if format_ == "text":
        return options.print_result(answer, format_, render_runs)
    for run in answer.runs:
        echo_json(to_json(run), indent=None)
    return 0
