"""`holdfast explain`."""

import json

import click

from holdfast.app.explaining import explain
from holdfast.cli import options


@click.command("explain")
@click.argument("code")
@options.format_
def command(code: str, format_: str) -> int:
    """Give the page of a rule or of a class of failure, or, for `job`, the keys of a job file."""
    answer = explain(code)
    click.echo(json.dumps(answer["about"], indent=2) if format_ == "json" else answer["text"])
    return 0
