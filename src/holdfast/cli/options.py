"""Options that several commands share, and how their results are printed."""

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from holdfast.cli.completion import complete_codes, complete_folders, complete_keys, complete_runs
from holdfast.cli.output import echo, echo_json
from holdfast.cli.terminal.seldom import SELDOM_S, SeldomLines
from holdfast.core.errors import UsageError
from holdfast.core.job.scenario import SCENARIO_KEY, SCENARIOS
from holdfast.results import Result, to_json

sets = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key of the job file.",
    shell_complete=complete_keys,
)
for_ = click.option(
    "--for",
    "scenarios",
    multiple=True,
    type=click.Choice(SCENARIOS),
    help="What the job is for; same as --set for=SCENARIO. See `holdfast explain for`.",
)
run = click.argument("run", shell_complete=complete_runs)
runs = click.option(
    "--runs",
    shell_complete=complete_folders,
    metavar="FOLDER",
    help="The runs folder. Default: $HOLDFAST_RUNS, else ./runs.",
)
format_ = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", help="Output format. Default: text."
)
quiet = click.option("--quiet", "-q", is_flag=True, help="Don't show progress.")
despite = click.option(
    "--despite",
    multiple=True,
    metavar="CODE",
    shell_complete=complete_codes,
    help="Don't refuse the job because of this rule.",
)
detach = click.option("--detach", is_flag=True, help="Return at once; a supervisor continues in the background.")

offline = click.option("--offline", is_flag=True, help="Don't contact the Hub; skip rules that need it.")

Answer = TypeVar("Answer", bound=Result)


class WithArguments(click.Command):
    """A command that takes a script's own arguments, or a command line, after `--`: its parameter `arguments`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep everything after the first `--` as it is."""
        at = args.index("--") if "--" in args else len(args)
        ctx.params["arguments"] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def with_scenario(sets: tuple[str, ...], scenarios: tuple[str, ...]) -> tuple[str, ...]:
    """Return the overrides with `--for` before them, so that `--set` wins.

    Raises:
        UsageError: Two scenarios are named.
    """
    name = one_scenario(scenarios)
    return (f"{SCENARIO_KEY}={name}", *sets) if name else sets


def one_scenario(scenarios: tuple[str, ...]) -> str:
    """Return the scenario of `--for`; empty if there is none.

    Raises:
        UsageError: Two are named.
    """
    named = tuple(dict.fromkeys(scenarios))
    if len(named) > 1:
        what = f"a job is for one thing, and `--for` names {len(named)}: {', '.join(named)}"
        raise UsageError(what, where="--for", fix="name one; settings of another can be added with `--set`")
    return named[0] if named else ""


def progress(*, quiet: bool, verb: str = "") -> Callable[[str], None]:
    """Return what prints the progress of a command to standard error; nothing with `--quiet`.

    Where every line is kept, as in the log of a CI job, one line in each `SELDOM_S` seconds is enough.

    Args:
        quiet: Whether `--quiet` was given.
        verb: A word before each line.
    """
    if quiet:
        return lambda _: None
    begin = f"{verb}: " if verb else ""
    lines = SeldomLines(0.0 if sys.stderr.isatty() else SELDOM_S)

    def show(what: str) -> None:
        if lines.is_due():
            echo(f"{begin}{what} …", err=True, dim=True)

    return show


def print_result(result: Answer, format_: str, text: Callable[[Answer], str]) -> int:
    """Print a result on standard output; return its exit code."""
    if format_ == "json":
        echo_json(to_json(result))
    else:
        echo(text(result))
    return result.exit_code
