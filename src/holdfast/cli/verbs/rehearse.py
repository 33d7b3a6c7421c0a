"""`holdfast rehearse`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from holdfast.app.rehearse.rehearsing import LIMIT_S
from holdfast.app.rehearse.verb import rehearse
from holdfast.app.rehearse.watching import rehearse_whenever_saved
from holdfast.cli import options
from holdfast.cli.text.rehearsal import render_rehearsal
from holdfast.engine.faults.kinds import ALL, kinds_of
from holdfast.results.rehearse import RehearseResult


@click.command("rehearse", cls=options.WithArguments)
@click.argument("target", required=False, type=click.Path(), metavar="[TARGET] [-- ARGUMENT…]")
@options.sets
@options.for_
@click.option("--here", is_flag=True, help="Use holdfast's own environment, whatever the script declares.")
@click.option("--gpu", is_flag=True, help="Use this machine's GPU.")
@click.option(
    "--limit",
    "limit_s",
    type=click.FloatRange(min=1),
    default=LIMIT_S,
    metavar="SECONDS",
    help=f"Longest time that each process of the rehearsal may take. Default: {LIMIT_S:g}.",
)
@click.option("--isolate", is_flag=True, help="For every failure, find whether data, model or code causes it.")
@click.option("--strict", is_flag=True, help="Fail if a stage that the job would reach is skipped.")
@click.option(
    "--faults",
    is_flag=False,
    flag_value=ALL,
    default="",
    metavar="[NAME,…]",
    help="Then inject faults, and show what a run would do after each. At the end of the command, without names: all.",
)
@click.option("--watch", is_flag=True, help="Rehearse again whenever a file next to TARGET is saved.")
@options.offline
@options.quiet
@options.format_
def command(
    target: str | None,
    arguments: tuple[str, ...],
    sets: tuple[str, ...],
    scenarios: tuple[str, ...],
    here: bool,
    gpu: bool,
    limit_s: float,
    isolate: bool,
    strict: bool,
    faults: str,
    watch: bool,
    offline: bool,
    quiet: bool,
    format_: str,
) -> int:
    """Run a job end to end on a tiny twin of its model.

    TARGET is a script, a notebook, a job file or a shell script. A script's own arguments follow `--`. To rehearse a
    command line, write it after `--`: `holdfast rehearse -- trl sft --model_name_or_path …`.
    """
    named_faults = (faults,) if faults else ()
    kinds_of(named_faults)  # where `--faults` is not the last word, the target would be taken for a name
    if target is None and not arguments:
        raise click.UsageError("name a script, a notebook or a job file, or a command line after `--`")
    on_progress = options.progress(quiet=quiet, verb="rehearsing")
    ask = partial(
        rehearse,
        target or "--",
        set=options.with_scenario(sets, scenarios),
        arguments=arguments,
        here=here,
        gpu=gpu,
        offline=offline,
        limit_s=limit_s,
        isolate=isolate,
        strict=strict,
        faults=named_faults,
        on_progress=on_progress,
    )
    if watch:
        return _rehearse_whenever_saved(ask, Path(target or "."), format_, on_progress)
    return options.print_result(ask(), format_, render_rehearsal)


def _rehearse_whenever_saved(
    ask: Callable[[], RehearseResult], target: Path, format_: str, on_progress: Callable[[str], None]
) -> int:
    for answer in rehearse_whenever_saved(ask, target):
        options.print_result(answer, format_, render_rehearsal)
        on_progress("again when a file is saved; Ctrl-C ends")
    return 0
