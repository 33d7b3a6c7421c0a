"""`holdfast`: one command per verb. Each is imported only when it is used."""

import gc
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from holdfast.app import VERBS
from holdfast.cli.output import discard_output, echo, echo_json, is_of_output, show_traceback
from holdfast.cli.terminal.streams import ignore_write_errors, open_closed_streams
from holdfast.cli.text.errors import render_errors
from holdfast.cli.usage import CommandGroup, translate_usage_error
from holdfast.core.errors import HoldfastError, UsageError, flatten
from holdfast.core.exit_codes import INTERRUPTED

COMMANDS = "holdfast.cli.verbs"
"""The package of the commands: one module per verb."""
WIDTH = 100
"""The most columns that help uses, however wide the terminal is."""
QUICK = frozenset({"check", "explain", "verify"})
"""Verbs that have to be quick and create little garbage; when one checks many files, it turns the collector on again."""

SUMMARIES: Mapping[str, str] = {**VERBS, "mcp": "Serve the commands to agents, over the Model Context Protocol."}
"""The first line of each command's help, so that the list can be printed without importing them."""


class LazyGroup(CommandGroup):
    """A group whose commands are found in `cli/verbs/` by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name every command, in the order people need them."""
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command."""
        if cmd_name not in SUMMARIES:
            return None
        if cmd_name in QUICK:
            gc.disable()  # collecting garbage among what was just imported takes a tenth of the time
        command: click.Command = import_module(f".{cmd_name}", COMMANDS).command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the verbs and options that begin so, without an import."""
        verbs = [CompletionItem(verb, help=line) for verb, line in SUMMARIES.items() if verb.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write each verb with its line, whole."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


@click.group(
    cls=LazyGroup,
    # click removes colours if the output is not a terminal, but does not know NO_COLOR.
    context_settings={
        "help_option_names": ["-h", "--help"],
        "color": False if os.environ.get("NO_COLOR") else None,
        "max_content_width": WIDTH,
    },
)
@click.version_option(package_name="holdfast", message="holdfast %(version)s")  # looked up when it is requested
def cli() -> None:
    """Check, rehearse, run, supervise and diagnose LLM fine-tuning jobs."""


def main(words: list[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    sys.excepthook = show_traceback
    open_closed_streams()
    ignore_write_errors()
    sys.exit(run_command(sys.argv[1:] if words is None else words))


def run_command(words: list[str]) -> int:
    """Run one command; return its exit code. Errors are printed in the format that was requested."""
    try:
        return _run_command(words)
    except OSError as error:
        if not is_of_output(error):
            raise
        discard_output()
        what, fix = f"the output cannot be written: {error.strerror}", "free some disk space, or write it elsewhere"
        echo(render_errors([UsageError(what, where="standard output", fix=fix)]), err=True)
        return 2


def _run_command(words: list[str]) -> int:
    try:
        _require_folder()
        return int(cli.main(words, prog_name="holdfast", standalone_mode=False) or 0)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.UsageError as error:
        command = " ".join(filter(None, ("holdfast", find_verb(words))))
        return print_errors(words, [translate_usage_error(error, command)])
    except (HoldfastError, ExceptionGroup, OSError) as error:
        if not (errors := flatten(error)):
            raise
        return print_errors(words, errors)


def _require_folder() -> None:
    """Raise UsageError if the folder that the command was started in was deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        where, fix = "the shell's working folder", "change to another one: `cd`"
        raise UsageError("the current folder was deleted", where=where, fix=fix) from None


def print_errors(words: list[str], errors: list[HoldfastError]) -> int:
    """Print errors, as text on standard error or as JSON on standard output; return the exit code."""
    if wants_json(words):
        output = {"schema": 1, "verb": find_verb(words), "errors": [error.as_json() for error in errors]}
        echo_json(output)
    else:
        echo(render_errors(errors), err=True)
    return 2 if all(isinstance(error, UsageError) for error in errors) else 1


def find_verb(words: list[str]) -> str | None:
    """Return the verb that a command line names, if it names one."""
    return next((word for word in words if word in SUMMARIES), None)


def wants_json(words: list[str]) -> bool:
    """Whether the command line asks for JSON. It is not parsed for this, since parsing may be what failed.

    >>> wants_json(["runs", "--format", "json"]), wants_json(["run", "train.py", "--", "--format=json"])
    (True, False)
    """
    words = words[: words.index("--")] if "--" in words else words  # what follows is the script's
    return "--format=json" in words or ("--format", "json") in pairwise(words)
