"""`holdfast`: one command a verb, each imported when it is used."""

import gc
import json
import os
import sys
from importlib import import_module
from itertools import pairwise

import click

from holdfast.app import VERBS
from holdfast.cli.text import render_errors
from holdfast.core.errors import HoldfastError, UsageError, flatten

INTERRUPTED = 130
QUICK = frozenset({"check", "explain", "verify"})
"""Verbs that people wait for, and that leave little waste; one that is asked about many files collects it again."""


class LazyGroup(click.Group):
    """A group whose commands are the verbs, found in `cli/verbs/` by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name every verb, in the order people need them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one verb's command."""
        if cmd_name not in VERBS:
            return None
        if cmd_name in QUICK:
            gc.disable()  # looking for waste among what was just imported takes a tenth of the time
        command: click.Command = import_module(f"holdfast.cli.verbs.{cmd_name}").command
        return command


@click.group(
    cls=LazyGroup,
    # click takes colours out where there is no terminal; that NO_COLOR asks for the same it does not know.
    context_settings={"help_option_names": ["-h", "--help"], "color": False if os.environ.get("NO_COLOR") else None},
)
@click.version_option(package_name="holdfast", message="holdfast %(version)s")  # looked up when it is asked for
def cli() -> None:
    """Fine-tuning jobs that hold: checked, supervised, resumed, explained."""


def main(words: list[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    sys.exit(run_command(sys.argv[1:] if words is None else words))


def run_command(words: list[str]) -> int:
    """Run one command; return its exit code. What was wrong with the question is told as it was asked to be."""
    try:
        return int(cli.main(words, prog_name="holdfast", standalone_mode=False) or 0)
    except click.exceptions.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.UsageError as error:
        fix = f"`{error.ctx.command_path} --help` tells more" if error.ctx else "`holdfast --help` tells more"
        return tell(words, [UsageError(error.format_message(), where="the command line", fix=fix)])
    except (HoldfastError, ExceptionGroup) as error:
        if not (errors := flatten(error)):
            raise
        return tell(words, errors)


def tell(words: list[str], errors: list[HoldfastError]) -> int:
    """Print what went wrong, as text on standard error or as JSON on standard output; return the exit code."""
    if wants_json(words):
        verb = next((word for word in words if word in VERBS), None)
        click.echo(json.dumps({"schema": 1, "verb": verb, "errors": [error.as_json() for error in errors]}, indent=2))
    else:
        click.echo(render_errors(errors), err=True, color=False if os.environ.get("NO_COLOR") else None)
    return 2 if all(isinstance(error, UsageError) for error in errors) else 1


def wants_json(words: list[str]) -> bool:
    """Whether the command line asks for JSON; asked before it is parsed, since parsing may be what failed.

    >>> wants_json(["runs", "--format", "json"]), wants_json(["runs", "--format=text"])
    (True, False)
    """
    return "--format=json" in words or ("--format", "json") in pairwise(words)


if __name__ == "__main__":
    main()
