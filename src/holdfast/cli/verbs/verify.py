"""`holdfast verify`."""

import click

from holdfast.app.verify.verb import verify
from holdfast.cli import options
from holdfast.cli.completion import complete_folders
from holdfast.cli.text.answers import render_verify


@click.command("verify")
@click.argument("checkpoint", shell_complete=complete_folders)
@options.format_
def command(checkpoint: str, format_: str) -> int:
    """Verify that a checkpoint or model folder is complete."""
    return options.print_result(verify(checkpoint), format_, render_verify)
