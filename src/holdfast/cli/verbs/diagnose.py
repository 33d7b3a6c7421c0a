"""`holdfast diagnose`."""

import click

from holdfast.app.diagnose.verb import diagnose
from holdfast.cli import options
from holdfast.cli.completion import complete_logs
from holdfast.cli.text.diagnosis import render_diagnosis


@click.command("diagnose")
@click.argument("targets", nargs=-1, required=True, shell_complete=complete_logs, metavar="LOG… [SCRIPT]|RUN")
@click.option(
    "--ended",
    default="",
    metavar="HOW",
    help="How the job ended, if known: an exit code (137, 0:15), a signal (SIGTERM) or a scheduler's state (TIMEOUT).",
)
@options.runs
@options.format_
def command(targets: tuple[str, ...], ended: str, runs: str | None, format_: str) -> int:
    """Find the cause of a failure in logs.

    LOG is a file, a folder of files, or `-` for standard input. Name all logs of one job together. SCRIPT is the job's
    script, notebook or job file. RUN is the name of a run.
    """
    return options.print_result(diagnose(targets, ended=ended, runs=runs), format_, render_diagnosis)
