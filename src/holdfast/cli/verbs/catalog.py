"""`holdfast catalog`."""

from collections.abc import Mapping
from typing import Any

import click

from holdfast.app.cataloguing import catalog
from holdfast.cli import options


@click.group("catalog")
def command() -> None:
    """Keep what is known of the libraries' releases up to date."""


@command.command("update")
@click.argument("packages", nargs=-1, metavar="[PACKAGE…]")
@click.option(
    "--from",
    "source",
    metavar="FOLDER",
    help="Build from the wheels in a folder, or add what an environment's site-packages has, instead of the registry's.",
)
@click.option(
    "--to", "target", metavar="FOLDER", help="Where to write. Default: where the catalog lies, else the cache."
)
@options.quiet
@options.format_
def update(packages: tuple[str, ...], source: str | None, target: str | None, quiet: bool, format_: str) -> int:
    """Read newly released libraries into the API history."""

    def tell(what: str) -> None:
        if not quiet:
            click.echo(what, err=True)

    return options.put_out(catalog(packages, source=source, target=target, onlooker=tell), format_, render)


def render(answer: Mapping[str, Any]) -> str:
    """Return what was added, a package a line."""
    lines = [f"{package}: {', '.join(versions)}" for package, versions in answer["added"].items()]
    return "\n".join([*(lines or ["nothing new"]), f"the catalog is in {answer['folder']}"])
