"""`holdfast check`."""

from pathlib import Path

import click

from holdfast.app.checking import check
from holdfast.cli import options
from holdfast.cli.text import render_check


@click.command("check")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET…")
@options.sets
@click.option("--select", multiple=True, metavar="CODE", help="Ask only rules whose code begins so.")
@click.option("--ignore", multiple=True, metavar="CODE", help="Leave out rules whose code begins so.")
@click.option("--strict", is_flag=True, help="A rule that could not be asked counts as a failure.")
@options.format_
def command(
    targets: tuple[str, ...],
    sets: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    format_: str,
) -> int:
    """Say what is wrong with job files before they cost anything."""
    answer = check(targets, sets=sets, only=select, ignore=ignore, strict=strict)
    return options.put_out(answer, format_, lambda told: render_check(told, read_sources(targets)))


def read_sources(targets: tuple[str, ...]) -> dict[str, str]:
    """Return the text of each target, for the lines that findings stand in."""
    return {path: Path(path).read_text(encoding="utf-8") for path in targets if Path(path).is_file()}
