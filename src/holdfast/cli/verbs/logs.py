"""`holdfast logs`."""

import sys

import click

from holdfast.app.asking import logs
from holdfast.cli import options


@click.command("logs")
@options.run
@click.option("--attempt", type=click.IntRange(min=1), help="Number of the attempt. Default: the newest.")
@options.runs
@options.format_
def command(run: str, attempt: int | None, runs: str | None, format_: str) -> int:
    """Print the output of a run's training process.

    Its standard error goes to standard error.
    """
    answer = logs(run, attempt=attempt, runs=runs)
    if format_ == "json":
        return options.put_out(answer, format_, str)
    sys.stderr.write(answer["stderr"])
    sys.stdout.write(answer["stdout"])
    return 0
