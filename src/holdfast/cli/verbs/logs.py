"""`holdfast logs`."""

import sys

import click

from holdfast.app.logs.verb import logs
from holdfast.cli import options
from holdfast.cli.output import shown
from holdfast.engine.run.screen import lines_of


@click.command("logs")
@options.run
@click.option("--attempt", type=click.IntRange(min=1), help="Number of the attempt. Default: the newest.")
@options.runs
@options.format_
def command(run: str, attempt: int | None, runs: str | None, format_: str) -> int:
    """Print the output of a run's training process.

    Standard output and standard error stay separate. If the output is not a terminal, only the last state of a progress bar
    is printed.
    """
    answer = logs(run, attempt=attempt, runs=runs)
    if format_ == "json":
        return options.print_result(answer, format_, str)
    if not answer.stdout and not answer.stderr:
        click.echo(f"attempt {answer.attempt} of {answer.run} has written no output", err=True)
    for stream, text in ((sys.stderr, answer.stderr), (sys.stdout, answer.stdout)):
        click.echo(shown(text if stream.isatty() else lines_of(text)), file=stream, nl=False, color=True)
    return 0
