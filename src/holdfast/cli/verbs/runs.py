"""`holdfast runs`."""

import click

from holdfast.app.runs.verb import runs as list_runs
from holdfast.cli import options
from holdfast.cli.output import echo_json
from holdfast.cli.text.answers import render_runs
from holdfast.cli.text.remote import render_remote
from holdfast.results import to_json
from holdfast.results.run import RemoteRunsResult


@click.command("runs")
@options.runs
@click.option("--on", metavar="BACKEND", help="List what was started on this backend, from any machine; and schedules.")
@click.option("--namespace", metavar="ACCOUNT", help="With --on: the account. Default: the token's.")
@options.format_
def command(runs: str | None, on: str | None, namespace: str | None, format_: str) -> int:
    """List runs.

    With `--format json`, print one object per line; with `--on`, a single one.
    """
    answer = list_runs(runs=runs, on=on, namespace=namespace)
    if isinstance(answer, RemoteRunsResult):
        return options.print_result(answer, format_, render_remote)
    if format_ == "text":
        return options.print_result(answer, format_, render_runs)
    for run in answer.runs:
        echo_json(to_json(run), indent=None)
    return 0
