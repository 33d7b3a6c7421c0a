"""`holdfast render`."""

from pathlib import Path

import click

from holdfast.app.rendering import render
from holdfast.cli import options
from holdfast.core.errors import UsageError


@click.command("render")
@click.argument("job", type=click.Path())
@options.sets
@click.option("--output", "-o", type=click.Path(dir_okay=False, writable=True), help="Write to this file.")
def command(job: str, sets: tuple[str, ...], output: str | None) -> int:
    """Write the training script of a job file.

    The script is plain TRL and does not need holdfast. `uv run` installs what it declares.
    """
    script = render(job, set=sets)
    if output is None:
        click.echo(script, nl=False)
        return 0
    try:
        Path(output).write_text(script, encoding="utf-8")
    except OSError as error:
        what = f"{output} cannot be written: {error.strerror}"
        raise UsageError(what, where="--output", fix="name a file in a folder that you may write to") from error
    return 0
