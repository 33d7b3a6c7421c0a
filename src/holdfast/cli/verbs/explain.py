"""`holdfast explain`."""

import click
from click.shell_completion import CompletionItem

from holdfast import signatures
from holdfast.app.explain.verb import explain
from holdfast.cli import options
from holdfast.cli.completion import beginning_so, complete_codes, job_keys
from holdfast.cli.output import echo, echo_json
from holdfast.cli.text.markdown import render_markdown
from holdfast.rules import rule_names


def complete_explained(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names that `explain` knows with this beginning: areas, codes and names of rules, classes of failure, job keys."""
    others = [*rule_names().values(), *signatures.class_names(), "job", *job_keys()]
    return [*complete_codes(ctx, param, incomplete), *beginning_so(incomplete, ((name, "") for name in others))]


@click.command("explain")
@click.argument("code", required=False, shell_complete=complete_explained)
@click.option("--all", "all_", is_flag=True, help="List all rules and classes of failure.")
@options.format_
@click.pass_context
def command(ctx: click.Context, code: str | None, all_: bool, format_: str) -> int:
    """Explain a rule, a class of failure, or the job file.

    CODE is a rule (`ARG101`, `renamed-argument`), an area of rules (`ARG`), a class of failure that `diagnose` names
    (`cuda-oom-eval`), `memory` or `plan`, `job` for all keys of a job file, or one of them (`dataset.rows`,
    `train.learning_rate`).
    """
    if (code is None) != all_:
        raise click.UsageError("name a rule, an area, a class of failure or `job`; or give `--all` alone", ctx)
    answer = explain(code)
    if format_ == "json":
        echo_json(answer.about)
    else:
        echo(render_markdown(answer.text))
    return 0
