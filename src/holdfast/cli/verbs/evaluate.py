"""`holdfast evaluate`."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from holdfast.app.evaluate.verb import BATCH, evaluate
from holdfast.catalog.metrics import METRICS
from holdfast.cli import options
from holdfast.cli.completion import beginning_so, complete_models
from holdfast.cli.text.evaluation import render_evaluation


def complete_metrics(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the metrics that begin so, else files with functions."""
    found = beginning_so(incomplete, ((name, metric.definition) for name, metric in METRICS.items()))
    return found or [CompletionItem(incomplete, type="file")]


@click.command("evaluate")
@click.argument("model", shell_complete=complete_models)
@click.option("--on", multiple=True, metavar="DATA", type=click.Path(), help="Dataset: a file, a folder or a Hub id.")
@click.option(
    "--task",
    multiple=True,
    metavar="NAME",
    type=click.Path(),
    help="Benchmark task or group of lm-eval, by name, YAML file or folder.",
)
@click.option(
    "--few-shot", type=click.IntRange(min=0), help="Examples before each row of a task. Default: what the task says."
)
@click.option("--limit", type=click.IntRange(min=1), help="Evaluate the first rows of each task, so many.")
@click.option("--allow-code", is_flag=True, help="Let tasks run code that the model writes, on this machine.")
@click.option("--prompt", multiple=True, help="Answer this prompt.")
@click.option("--split", help="Split, slice or sum of splits. Default: the first of test, validation and train.")
@click.option("--config", help="Configuration (subset) of a Hub dataset.")
@click.option("--rows", type=click.IntRange(min=1), help="Evaluate this many rows of each dataset, drawn at random.")
@click.option(
    "--metric",
    multiple=True,
    metavar="NAME|FILE:FUNCTION",
    shell_complete=complete_metrics,
    help="Metric. Default: those that fit the dataset's columns.",
)
@click.option("--rewards", multiple=True, metavar="FILE:FUNCTION", help="Reward function, as in training.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Break figures down by a column, `label` or `length`.")
@click.option("--cluster", metavar="COLUMN", help="Rows with the same value belong together. Default: the prompt.")
@click.option("--base", metavar="MODEL", help="Compare with this model. Default: an adapter's or a run's own base.")
@click.option("--no-base", is_flag=True, help="Don't compare.")
@click.option(
    "--trained-on",
    multiple=True,
    metavar="DATA",
    type=click.Path(),
    help="Report rows that are in this training data. Default: that of a run.",
)
@click.option(
    "--at-least",
    multiple=True,
    metavar="METRIC=NUMBER",
    help="Fail unless the whole interval is above NUMBER (for a loss: below).",
)
@click.option("--not-worse-than", metavar="MODEL", help="Fail if the interval shows that this model is better.")
@click.option(
    "--max-new-tokens", type=click.IntRange(min=1), default=256, help="Longest answer, in tokens. Default: 256."
)
@click.option("--stop", multiple=True, metavar="TEXT", help="Text that ends an answer.")
@click.option(
    "--temperature", type=click.FloatRange(min=0), default=0.0, help="Temperature of sampling. Default: 0, no sampling."
)
@click.option(
    "--top-p",
    type=click.FloatRange(min=0, max=1, min_open=True),
    default=1.0,
    help="Sample from the likeliest tokens, up to this probability.",
)
@click.option(
    "--top-k",
    type=click.IntRange(min=0),
    default=0,
    help="Sample from this many of the likeliest tokens. Default: all.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of sampling and of --rows. Default: 0.")
@click.option(
    "--batch-size", type=click.IntRange(min=1), default=BATCH, help=f"Largest batch, in rows. Default: {BATCH}."
)
@click.option(
    "--every", type=click.Choice(["checkpoint"]), help="Also evaluate the run's checkpoints, and name the best."
)
@click.option(
    "--results",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Folder for results. Default: a run's own, else ./results.",
)
@options.runs
@options.offline
@options.quiet
@options.format_
def command(*, quiet: bool, format_: str, **named: Any) -> int:
    """Evaluate a model, with intervals, and compare it with its base.

    MODEL is a folder, a run, or the id of a Hub model. For an adapter, holdfast finds the base. A dataset's columns determine what is measured.
    """
    answer = evaluate(
        **named, on_progress=options.progress(quiet=quiet)
    )  # its options are named like the verb's arguments
    return options.print_result(answer, format_, render_evaluation)
