"""`holdfast render`."""

import click

from holdfast.app.rendering import render
from holdfast.cli import options


@click.command("render")
@click.argument("job", type=click.Path())
@options.sets
@click.option("--output", "-o", type=click.Path(dir_okay=False, writable=True), help="Write to this file.")
def command(job: str, sets: tuple[str, ...], output: str | None) -> int:
    """Write the training script of a job file.

    The script is plain TRL and does not need holdfast. `uv run` installs what it declares.
    """
    with click.open_file(output or "-", "w", encoding="utf-8") as file:
        file.write(render(job, set=sets))
    return 0
