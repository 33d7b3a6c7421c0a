"""What a shell completes beside commands and options: runs, rules, classes of failure, keys, and files."""

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from holdfast.rules import AREAS, rule_names


def complete_codes(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the areas and codes of rules that begin so."""
    return _beginning(incomplete, {**AREAS, **rule_names()}.items())


def complete_explained(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names that `explain` knows with this beginning: areas, codes and names of rules, classes of failure, job keys."""
    from holdfast import signatures

    others = [*rule_names().values(), *signatures.class_names(), "job", *_keys()]
    return [*complete_codes(ctx, param, incomplete), *_beginning(incomplete, ((name, "") for name in others))]


def complete_keys(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the keys of a job file that begin so, each with its `=`; under `train`, what the config classes take."""
    return _beginning(incomplete, ((f"{key}=", "") for key in _keys()))


def complete_runs(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of runs that begin so, newest first, from the runs folder."""
    from holdfast.adapters.storage.ledger import Ledger
    from holdfast.app.arguments import runs_folder

    folder = runs_folder(ctx.params.get("runs"))
    names = Ledger(folder).runs() if folder.is_dir() else []
    return _beginning(incomplete, ((name, "") for name in reversed(names)))


def complete_logs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of runs that begin so, else files."""
    return complete_runs(ctx, param, incomplete) or [CompletionItem(incomplete, type="file")]


def complete_folders(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completion that makes the shell complete folders."""
    return [CompletionItem(incomplete, type="dir")]


def _keys() -> list[str]:
    """Return the keys of a job file, with the arguments that it passes on."""
    from holdfast.core.job import all_keys
    from holdfast.engine.explain.arguments import argument_keys

    return [*all_keys(), *argument_keys()]


def _beginning(incomplete: str, names: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return the names that begin so, in capitals or not, with what each is."""
    begin = incomplete.lower()
    return [CompletionItem(name, help=about or None) for name, about in names if name.lower().startswith(begin)]


def complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of runs that begin so, else folders."""
    return complete_runs(ctx, param, incomplete) or [CompletionItem(incomplete, type="dir")]


def complete_quantizations(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the quantizations that begin so."""
    from holdfast.engine.export.quantizations import QUANTIZATIONS

    return _beginning(incomplete, ((name, f"{each.bits:g} bits a weight") for name, each in QUANTIZATIONS.items()))


def complete_metrics(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the metrics that begin so, else files with functions."""
    from holdfast.catalog.metrics import METRICS

    found = _beginning(incomplete, ((name, metric.definition) for name, metric in METRICS.items()))
    return found or [CompletionItem(incomplete, type="file")]
