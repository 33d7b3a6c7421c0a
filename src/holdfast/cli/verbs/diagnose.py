"""`holdfast diagnose`."""

import click

from holdfast.app.diagnosing import diagnose
from holdfast.cli import options
from holdfast.cli.diagnosis import render_diagnosis


@click.command("diagnose")
@click.argument("targets", nargs=-1, required=True, metavar="LOG… [SCRIPT]|RUN")
@click.option(
    "--ended",
    default="",
    metavar="HOW",
    help="How it ended, where you know: an exit code (137, -9, 0:15), a signal (SIGTERM), a scheduler's state (TIMEOUT).",
)
@options.runs
@options.format_
def command(targets: tuple[str, ...], ended: str, runs: str | None, format_: str) -> int:
    """Say what made a job fail: the cause, the lines that say so, and the fix; or what is missing to know.

    Name the logs of one job (files, folders of them, `-` for standard input), with its script, notebook or job file
    beside them where it is at hand; or a run.
    """
    return options.put_out(diagnose(targets, ended=ended, runs=runs), format_, render_diagnosis)
