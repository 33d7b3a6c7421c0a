"""`holdfast plan`."""

import click

from holdfast.adapters.secrets import redacted
from holdfast.app.plan.placing import STRATEGIES
from holdfast.app.plan.verb import WHOLE_LINE, plan
from holdfast.cli import options
from holdfast.cli.pages import require_page, write_page
from holdfast.cli.text.plan import render_html, render_plan
from holdfast.core.errors import UsageError


@click.command("plan", cls=options.WithArguments)
@click.argument("target", required=False, type=click.Path(), metavar="[TARGET] [-- ARGUMENT…]")
@options.sets
@options.for_
@click.option("--hardware", metavar="NAME", help="Flavor or kind of GPU: a10g-large, h100, h100x8.")
@click.option("--budget", type=float, metavar="USD", help="The most that the job may cost.")
@click.option("--processes", type=int, metavar="N", help="Training processes on each machine.")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="How processes share the work.")
@click.option(
    "--prices",
    type=click.Path(),
    metavar="FILE",
    help="Your own machines and prices, as TOML. Default: $HOLDFAST_PRICES, else the project's `prices`.",
)
@click.option("--trace", is_flag=True, help="Trace the step on fake tensors (needs the extra `train`, or uv).")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, writable=True),
    help="Also write an HTML page with the timeline of the traced step (needs --trace).",
)
@click.option("--apply", is_flag=True, help="Write the first option, and a missing timeout, into TARGET.")
@options.offline
@options.format_
def command(
    target: str | None,
    arguments: tuple[str, ...],
    sets: tuple[str, ...],
    scenarios: tuple[str, ...],
    hardware: str | None,
    budget: float | None,
    processes: int | None,
    strategy: str | None,
    prices: str | None,
    trace: bool,
    html: str | None,
    apply: bool,
    offline: bool,
    format_: str,
) -> int:
    """Estimate a job's memory, time and cost; find hardware that fits.

    TARGET is a job file, a script or a notebook. A script's own arguments follow `--`. To plan a command line, write it
    after `--`: `holdfast plan -- trl sft --model_name_or_path …`. It downloads only the model's config and, to measure local rows, the tokenizer.
    """
    if target is None and not arguments:
        raise click.UsageError("name a job file or a script, or a command line after `--`")
    if html and not trace:
        raise UsageError("a timeline is drawn of a traced step only", where="--html", fix="add `--trace`")
    if html:
        require_page(html)
    result = plan(
        target or WHOLE_LINE,
        set=options.with_scenario(sets, scenarios),
        arguments=arguments,
        hardware=hardware,
        budget=budget,
        processes=processes,
        strategy=strategy,
        prices=prices,
        trace=trace,
        apply=apply,
        offline=offline,
    )
    code = options.print_result(result, format_, render_plan)
    if html:
        write_page(html, redacted(render_html(result)))
    return code
