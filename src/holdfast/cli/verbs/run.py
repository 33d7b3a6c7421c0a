"""`holdfast run`."""

import click

from holdfast.app.run.verb import run
from holdfast.cli import options
from holdfast.cli.terminal.display import RunDisplay
from holdfast.cli.text.answers import render_run


@click.command("run", cls=options.WithArguments)
@click.argument("target", required=False, type=click.Path(), metavar="TARGET [-- ARGUMENT…]")
@options.sets
@options.for_
@click.option("--on", metavar="BACKEND", help="Backend to run on; same as --set where.backend=BACKEND.")
@options.despite
@options.detach
@click.option("--no-rehearse", is_flag=True, help="Don't rehearse the job first.")
@click.option("--try", "try_first", is_flag=True, help="Run a few steps of the job first; continue if they succeed.")
@click.option(
    "--resume-from",
    metavar="CHECKPOINT",
    help="Continue from this checkpoint: a folder, or hf://OWNER/NAME for the newest that was pushed there.",
)
@click.option(
    "--schedule",
    metavar="TIMES",
    help="Have the backend start the job by itself: @daily, or five fields of cron. Nothing is started now.",
)
@options.offline
@options.runs
@options.quiet
@options.format_
def command(
    target: str | None,
    arguments: tuple[str, ...],
    sets: tuple[str, ...],
    scenarios: tuple[str, ...],
    on: str | None,
    despite: tuple[str, ...],
    detach: bool,
    no_rehearse: bool,
    try_first: bool,
    resume_from: str | None,
    schedule: str | None,
    offline: bool,
    runs: str | None,
    quiet: bool,
    format_: str,
) -> int:
    """Check, rehearse, start and supervise a job.

    TARGET is a job file or a script. A script's own arguments follow `--`. A job that would fail is not started.
    """
    if target is None:
        raise click.UsageError("name a job file or a script; a script's own arguments follow `--`")
    sets = options.with_scenario((*sets, f"where.backend={on}") if on else sets, scenarios)
    with RunDisplay(quiet=quiet) as display:
        answer = run(
            target,
            set=sets,
            arguments=arguments,
            runs=runs,
            despite=despite,
            detach=detach,
            offline=offline,
            rehearse=not no_rehearse,
            try_first=try_first,
            resume_from=resume_from,
            schedule=schedule,
            observer=display,
        )
    return display.exit_code(options.print_result(answer, format_, render_run))
