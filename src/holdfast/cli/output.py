"""Printing: whatever holdfast prints contains nothing but text and colours, and no secret."""

import json
import os
import sys
import traceback
from types import TracebackType
from typing import Any

import click

from holdfast.adapters.secrets import redacted, redacted_parts
from holdfast.cli.text.printable import printable


def shown(text: str) -> str:
    """Return a text without secrets, and without characters that would control a terminal."""
    return printable(redacted(text))


def echo(text: str, *, err: bool = False, dim: bool = False) -> None:
    """Print a text; without colours if the output is not a terminal, or if `NO_COLOR` is set."""
    safe = shown(text)
    click.echo(
        click.style(safe, dim=True) if dim else safe, err=err, color=False if os.environ.get("NO_COLOR") else None
    )


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(redacted_parts(value), indent=indent))


def is_of_output(error: OSError) -> bool:
    """True if an error was met while something was printed."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_globals["__name__"] == click.echo.__module__


def discard_output() -> None:
    """Drop what waits to be printed: Python would try it again at its end, and end with another exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an error in holdfast itself."""
    sys.stderr.write(shown("".join(traceback.format_exception(kind, error, trace))))
