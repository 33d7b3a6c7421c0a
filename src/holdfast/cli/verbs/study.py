"""`holdfast study`."""

import click

from holdfast.app.study.verb import study as study_verb
from holdfast.cli import options
from holdfast.cli.terminal.study_display import StudyDisplay
from holdfast.cli.text.study import render_study


@click.command("study")
@click.argument("study", type=click.Path())
@click.option("--show", is_flag=True, help="Show the results so far; start no trial.")
@click.option("--dry-run", is_flag=True, help="Check every trial, and show what would run; start no trial.")
@click.option("--yes", "-y", is_flag=True, help="Start more than 100 trials without asking.")
@click.option("--retry", is_flag=True, help="Run failed trials again.")
@options.for_
@options.despite
@click.option("--no-rehearse", is_flag=True, help="Don't rehearse the jobs first.")
@options.detach
@options.offline
@options.runs
@options.quiet
@options.format_
def command(
    study: str,
    show: bool,
    dry_run: bool,
    yes: bool,
    retry: bool,
    scenarios: tuple[str, ...],
    despite: tuple[str, ...],
    no_rehearse: bool,
    detach: bool,
    offline: bool,
    runs: str | None,
    quiet: bool,
    format_: str,
) -> int:
    """Run many settings of one job, and find the best.

    STUDY is a YAML file: a job, what varies in it, and a metric. Each trial is a separate run. If one fails, the others continue. The same command
    continues an interrupted study, and runs only what is new in the file.
    """
    with StudyDisplay(quiet=quiet) as display:
        answer = study_verb(
            study,
            show=show,
            dry_run=dry_run,
            yes=yes,
            retry=retry,
            runs=runs,
            scenario=options.one_scenario(scenarios),
            despite=despite,
            offline=offline,
            rehearse=not no_rehearse,
            detach=detach,
            observer=display,
            confirm=display.confirm,
        )
    return display.exit_code(options.print_result(answer, format_, render_study))
