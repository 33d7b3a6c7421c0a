"""What a shell completes beside commands and options: runs, rules, classes of failure, keys, and files."""

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from holdfast.app.arguments import runs_folder
from holdfast.rules import AREAS, rule_names


def complete_codes(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the areas and codes of rules that begin so."""
    return beginning_so(incomplete, {**AREAS, **rule_names()}.items())


def complete_keys(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the keys of a job file that begin so, each with its `=`; under `train`, what the config classes take."""
    return beginning_so(incomplete, ((f"{key}=", "") for key in job_keys()))


def complete_runs(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of runs that begin so, newest first, from the runs folder."""
    from holdfast.adapters.storage.ledger import Ledger

    folder = runs_folder(ctx.params.get("runs"))
    names = Ledger(folder).runs() if folder.is_dir() else []
    return beginning_so(incomplete, ((name, "") for name in reversed(names)))


def complete_logs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of runs that begin so, else files."""
    return complete_runs(ctx, param, incomplete) or [CompletionItem(incomplete, type="file")]


def complete_folders(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completion that makes the shell complete folders."""
    return [CompletionItem(incomplete, type="dir")]


def job_keys() -> list[str]:
    """Return the keys of a job file, with the arguments that it passes on."""
    from holdfast.core.job_file.job import all_keys
    from holdfast.engine.explain.arguments import argument_keys

    return [*all_keys(), *argument_keys()]


def beginning_so(incomplete: str, names: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return the names that begin so, in capitals or not, with what each is."""
    begin = incomplete.lower()
    return [CompletionItem(name, help=about or None) for name, about in names if name.lower().startswith(begin)]


def complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of runs that begin so, else folders."""
    return complete_runs(ctx, param, incomplete) or [CompletionItem(incomplete, type="dir")]
