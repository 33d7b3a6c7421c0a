"""`holdfast catalog`."""

import click

from holdfast.app.catalog.verb import catalog
from holdfast.cli import options
from holdfast.cli.output import echo
from holdfast.cli.usage import CommandGroup
from holdfast.results.catalog import CatalogResult


@click.group("catalog", cls=CommandGroup)
def command() -> None:
    """Keep the catalog of library releases up to date."""


@command.command("update")
@click.argument("packages", nargs=-1, metavar="[PACKAGE…]")
@click.option(
    "--from",
    "source",
    metavar="FOLDER",
    help="Read a folder of wheels, or an environment's site-packages, instead of the registry.",
)
@click.option("--to", "target", metavar="FOLDER", help="Folder to write to. Default: the catalog's, else the cache.")
@options.quiet
@options.format_
def update(packages: tuple[str, ...], source: str | None, target: str | None, quiet: bool, format_: str) -> int:
    """Add new releases of the libraries to the catalog."""

    def tell(what: str) -> None:
        if not quiet:
            echo(what, err=True)

    return options.print_result(catalog(packages, source=source, target=target, on_progress=tell), format_, render)


def render(result: CatalogResult) -> str:
    """Return the added packages, one per line."""
    lines = [f"{package}: {', '.join(versions)}" for package, versions in result.added.items()]
    return "\n".join([*(lines or ["nothing new"]), f"the catalog is in {result.folder}"])
