"""`holdfast doctor`."""

import click

from holdfast.app.doctor.verb import doctor
from holdfast.cli import options
from holdfast.cli.text.doctor import render_doctor


@click.command("doctor")
@options.offline
@options.format_
def command(offline: bool, format_: str) -> int:
    """Check this machine, its libraries and the Hub.

    Each problem comes with the command that fixes it. Nothing is changed.
    """
    return options.print_result(doctor(offline=offline), format_, render_doctor)
