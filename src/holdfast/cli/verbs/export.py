"""`holdfast export`."""

import sys

import click

from holdfast.app.export.verb import DTYPES, export
from holdfast.cli import options
from holdfast.cli.completion import complete_models
from holdfast.cli.output import echo
from holdfast.cli.text.export import render_export


@click.command("export")
@click.argument("model", shell_complete=complete_models)
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Folder to make. Default: `export` in a run's folder, else ./export/NAME.",
)
@click.option("--base", metavar="MODEL", help="Base to merge into. Default: the one that the adapter names.")
@click.option("--adapter", multiple=True, metavar="ADAPTER", help="Merge this adapter of the same base too.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Dtype of the weights. Default: that of the base.")
@click.option("--shard-size", default="5GB", metavar="SIZE", help="Largest file of weights. Default: 5GB.")
@options.runs
@options.offline
@options.quiet
@options.format_
def command(
    model: str,
    out: str | None,
    base: str | None,
    adapter: tuple[str, ...],
    dtype: str | None,
    shard_size: str,
    runs: str | None,
    offline: bool,
    quiet: bool,
    format_: str,
) -> int:
    """Export a model: merge adapters into their base, and prove that the result is the same model.

    MODEL is a folder, a run, or the id of a Hub model; of an adapter, its base is found.
    """
    answer = export(
        model,
        out=out,
        base=base,
        adapter=adapter,
        dtype=dtype,
        shard_size=shard_size,
        runs=runs,
        offline=offline,
        on_progress=(lambda _: None) if quiet or not sys.stderr.isatty() else _say,
    )
    return options.print_result(answer, format_, render_export)


def _say(what: str) -> None:
    echo(f"{what} …", err=True, dim=True)
