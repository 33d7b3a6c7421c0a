"""`holdfast inspect`."""

import click

from holdfast.adapters.secrets import redacted
from holdfast.app.inspect.verb import inspect
from holdfast.cli import options
from holdfast.cli.pages import require_page, write_page
from holdfast.cli.text.inspection import render_html, render_inspect
from holdfast.core.errors import UsageError
from holdfast.core.job.methods import Method

METHODS = [method.value for method in Method]


@click.command("inspect")
@click.argument("data", type=click.Path())
@click.option("--split", help="Split to read, a slice of it (`train[:10%]`) or a sum (`train+test`). Default: train.")
@click.option("--eval-split", help="Split to evaluate on; rows in both splits are reported.")
@click.option("--config", help="Configuration (subset) of a Hub dataset.")
@click.option("--method", type=click.Choice(METHODS), help="Method to train with.")
@click.option("--model", help="Model whose tokenizer and chat template to apply.")
@click.option("--rewards", multiple=True, metavar="FILE:FUNCTION", help="Call this reward function on sample rows.")
@click.option(
    "--rows", type=click.IntRange(min=1), default=100_000, help="Tokenize at most this many rows. Default: 100000."
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, writable=True),
    help="Also write an HTML page with the row lengths and masks.",
)
@click.option(
    "--save",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Keep the rows of a job file here, as its training would prepare them, and inspect them.",
)
@click.option("--jsonl", is_flag=True, help="With --save: as JSON Lines instead of Parquet.")
@options.sets
@options.offline
@options.format_
def command(
    data: str,
    split: str | None,
    eval_split: str | None,
    config: str | None,
    method: str | None,
    model: str | None,
    rewards: tuple[str, ...],
    rows: int,
    html: str | None,
    save: str | None,
    jsonl: bool,
    sets: tuple[str, ...],
    offline: bool,
    format_: str,
) -> int:
    """Inspect a dataset: its format, its rows, the methods it fits.

    DATA is a file, a folder, the id of a Hub dataset, or a job file. A job file gives the dataset, the method, the model
    and their settings.
    """
    if html:
        require_page(html)
    answer = inspect(
        data,
        split=split,
        eval_split=eval_split,
        config=config,
        method=method,
        model=model,
        rewards=rewards,
        set=sets,
        rows=rows,
        save=save,
        jsonl=jsonl,
        offline=offline,
    )
    if html:
        if answer.tokens is None:
            what = answer.untold or "no model is named"
            raise UsageError(f"there are no tokens to draw: {what}", where="--html", fix="name a model: `--model`")
        write_page(html, redacted(render_html(answer, answer.tokens)))
    return options.print_result(answer, format_, render_inspect)
