"""`holdfast check`."""

import json

import click
from click import unstyle

import holdfast
from holdfast.adapters.secrets import redacted, redacted_parts
from holdfast.adapters.targets import read_text
from holdfast.adapters.targets.project import RESOLVERS
from holdfast.app.check.verb import check
from holdfast.cli import options
from holdfast.cli.completion import complete_codes
from holdfast.cli.text.findings import render_check, render_outcome
from holdfast.cli.text.printable import printable
from holdfast.core.errors import UsageError, flatten
from holdfast.engine.check.answers import UnreadableTarget, check_result, target_result
from holdfast.engine.formats import github
from holdfast.results import to_json
from holdfast.results.check import CheckResult
from holdfast.rules import all_rules

FORMATS = ("text", "json", "sarif", "github")
WITH_EDITS = ("json", "sarif")
ANNOTATIONS = ("sarif", "github")


@click.command("check", cls=options.WithArguments)
@click.argument("targets", nargs=-1, type=click.Path(), metavar="TARGET… [-- ARGUMENT…]")
@options.sets
@options.for_
@click.option(
    "--select",
    multiple=True,
    metavar="CODE",
    shell_complete=complete_codes,
    help="Check only rules whose code starts with CODE.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="CODE",
    shell_complete=complete_codes,
    help="Don't check rules whose code starts with CODE.",
)
@click.option("--strict/--no-strict", default=None, help="Fail if a rule is skipped.")
@click.option(
    "--resolve", type=click.Choice(RESOLVERS), help="Resolve versions from the catalog or with uv. Default: catalog."
)
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that may change the result.")
@click.option("--diff", is_flag=True, help="Show what fixes would change; write nothing.")
@click.option("--force-exclude", is_flag=True, help="Apply exclusions also to the files that you name.")
@click.option("--no-cache", is_flag=True, help="Don't read or write the cache.")
@click.option("--checklist", is_flag=True, help="Also show the pre-flight checklists.")
@click.option("--statistics", is_flag=True, help="Show counts by rule instead of findings.")
@options.offline
@click.option("--quiet", "-q", is_flag=True, help="Show only the findings.")
@click.option("--verbose", "-v", is_flag=True, help="Name each skipped rule, with the reason.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="text", help="Output format. Default: text.")
def command(
    targets: tuple[str, ...],
    arguments: tuple[str, ...],
    sets: tuple[str, ...],
    scenarios: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool | None,
    resolve: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    force_exclude: bool,
    no_cache: bool,
    checklist: bool,
    statistics: bool,
    offline: bool,
    quiet: bool,
    verbose: bool,
    format_: str,
) -> int:
    """Check scripts, notebooks, command lines and job files.

    TARGET is a file, a folder, or `-` for a script on standard input. A script's own arguments follow `--`. To check a
    command line, write it after `--`: `holdfast check -- trl sft --model_name_or_path …`.
    """
    if not targets and not arguments:
        raise click.UsageError("name a target: a file, a folder, `-`, or a command line after `--`")
    overrides = options.with_scenario(sets, scenarios)
    try:
        answer = check(
            targets,
            set=overrides,
            arguments=arguments,
            select=select,
            ignore=ignore,
            strict=strict,
            resolve=resolve,
            force_exclude=force_exclude,
            cache=not no_cache,
            fix=fix,
            unsafe_fixes=unsafe_fixes,
            diff=diff,
            checklist=checklist,
            statistics=statistics,
            edits=format_ in WITH_EDITS,
            offline=offline,
        )
    except (UsageError, ExceptionGroup) as error:
        click.echo(_annotations(error, format_), nl=False)
        raise
    text = printable(render(answer, format_, verbose=verbose, quiet=quiet))
    click.echo(text, nl=bool(text))
    return answer.exit_code


def _annotations(error: Exception, format_: str) -> str:
    """Return an annotation for the error that keeps the only target from being read; empty for other formats, or for an error without a file."""
    errors = tuple(each for each in flatten(error) if each.spot.line is not None)
    if format_ not in ANNOTATIONS or not errors:
        return ""
    unread = target_result(UnreadableTarget(path=errors[0].spot.path or "", errors=errors))
    return f"{render(check_result([unread]), format_)}\n"


def render(result: CheckResult, format_: str, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return an answer in one of the formats."""
    match format_:
        case "json":
            return json.dumps(redacted_parts(to_json(result)), indent=2)
        case "sarif":
            from holdfast.engine.formats import sarif

            log = sarif.render_sarif(result, all_rules(), read_sources(result), version=holdfast.__version__)
            return json.dumps(redacted_parts(log), indent=2)
        case "github":
            outcome = () if quiet else map(github.render_line, render_outcome(result, verbose=verbose))
            return redacted(unstyle("\n".join([*github.render_github(result), *outcome])))
        case _:
            sources = {path: redacted_lines(text) for path, text in read_sources(result).items()}
            rendered = render_check(result, sources, verbose=verbose, quiet=quiet)
            return redacted(f"{_tables(result)}{rendered}")


def _tables(result: CheckResult) -> str:
    """Return the tables above the findings, each with an empty line below it; empty if there are none."""
    if not any(target.scenario or target.checklist for target in result.targets):
        return ""
    from holdfast.cli.text.check_tables import render_tables  # which imports rich

    return "".join(f"{table}\n\n" for table in render_tables(result))


def read_sources(result: CheckResult) -> dict[str, str]:
    """Return the text of each file with findings, for the lines that they stand in."""
    return {path: text for path in _paths(result) if (text := _source(path)) is not None}


def redacted_lines(text: str) -> str:
    """Return a text whose lines hold no secret: they are shown in parts, and a part of a secret has no shape."""
    return "\n".join(map(redacted, text.split("\n")))


def _source(path: str) -> str | None:
    try:
        return read_text(path)
    except UsageError:  # a command line, or a file that could not be read before either
        return None


def _paths(result: CheckResult) -> set[str]:
    targets = result.targets
    return {found.path for target in targets for found in (*target.findings, *target.suppressed)}
