"""`holdfast export`."""

import click
from click.shell_completion import CompletionItem

from holdfast.app.export.verb import DTYPES, export
from holdfast.cli import options
from holdfast.cli.completion import beginning_so, complete_models
from holdfast.cli.text.export import render_export
from holdfast.engine.export.quantizations import QUANTIZATIONS


def complete_quantizations(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the quantizations that begin so."""
    return beginning_so(incomplete, ((name, f"{each.bits:g} bits a weight") for name, each in QUANTIZATIONS.items()))


@click.command("export")
@click.argument("model", shell_complete=complete_models)
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Folder to make. Default: `export` in a run's folder, else ./export/NAME.",
)
@click.option("--base", metavar="MODEL", help="Base to merge into. Default: the one that the adapter names.")
@click.option("--adapter", multiple=True, metavar="ADAPTER", help="Also merge this adapter of the same base.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Dtype of the weights. Default: that of the base.")
@click.option("--shard-size", default="5GB", metavar="SIZE", help="Largest file of weights. Default: 5GB.")
@click.option(
    "--gguf",
    multiple=True,
    metavar="QUANTIZATION",
    shell_complete=complete_quantizations,
    help="Make a GGUF file: f16, q8_0, q6_k, q5_k_m, q4_k_m, q4_k_s, q3_k_m, q2_k; separate several by commas.",
)
@click.option("--sample", metavar="FILE", type=click.Path(), help="Text to measure the perplexity on.")
@click.option(
    "--max-loss",
    type=click.FloatRange(min=0),
    metavar="PERCENT",
    help="Largest rise of the perplexity through a quantization. Default: five times what is usual.",
)
@click.option("--push", metavar="REPO", help="Push the folder to this repository of the Hub.")
@click.option("--public", is_flag=True, help="Make a new repository public. Default: private.")
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
    gguf: tuple[str, ...],
    sample: str | None,
    max_loss: float | None,
    push: str | None,
    public: bool,
    runs: str | None,
    offline: bool,
    quiet: bool,
    format_: str,
) -> int:
    """Export a model: merge, convert to GGUF, and verify the result.

    MODEL is a folder, a run, or the id of a Hub model. For an adapter, holdfast finds the base.
    """
    answer = export(
        model,
        out=out,
        base=base,
        adapter=adapter,
        dtype=dtype,
        shard_size=shard_size,
        gguf=gguf,
        sample=sample,
        max_loss=max_loss,
        push=push,
        public=public,
        runs=runs,
        offline=offline,
        on_progress=options.progress(quiet=quiet),
    )
    return options.print_result(answer, format_, render_export)
