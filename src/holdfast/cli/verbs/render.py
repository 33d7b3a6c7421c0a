"""`holdfast render`."""

import click

from holdfast.app.rendering import render
from holdfast.cli import options


@click.command("render")
@click.argument("job")
@options.sets
@click.option("--output", "-o", type=click.Path(dir_okay=False, writable=True), help="Write it here instead.")
def command(job: str, sets: tuple[str, ...], output: str | None) -> int:
    """Give the self-contained training script of a job file."""
    with click.open_file(output or "-", "w", encoding="utf-8") as file:
        file.write(render(job, sets=sets))
    return 0
