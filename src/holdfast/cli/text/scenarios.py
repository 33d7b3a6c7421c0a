"""What a scenario changed in a job, as text: a table of its settings, those that the user wrote, and those that do not fit."""

from click import style
from rich.table import Table
from rich.text import Text

from holdfast.cli.text.drawing import drawn
from holdfast.core.job.scenario import KeptSetting, ScenarioChoices
from holdfast.core.text.inline_yaml import render_inline_yaml


def render_scenario(path: str, scenario: ScenarioChoices) -> str:
    """Return the table of one job, with a heading."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("key", no_wrap=True)
    table.add_column("value")
    table.add_column("because", ratio=3)
    table.add_column("it costs", ratio=3, style="dim")
    for each in scenario.chosen:
        table.add_row(*map(Text, (each.key, render_inline_yaml(each.value), each.because, each.costs)))
    for kept in scenario.kept:
        table.add_row(
            Text(kept.key), Text(render_inline_yaml(kept.value)), Text(f"kept: yours{_instead(kept)}", "yellow")
        )
    for omitted in scenario.omitted:
        table.add_row(Text(omitted.key), Text("not set", "dim"), Text(omitted.because, "dim"))
    overrides = f"; the file has `for: {scenario.overrides}`" if scenario.overrides else ""
    head = f"{style('for', bold=True)} {style(scenario.name, bold=True)} of {path}: {scenario.prefers} wins{overrides}"
    return f"{head}\n{drawn(table)}"


def _instead(kept: KeptSetting) -> str:
    """Return what the scenario would have set, if that is another value."""
    if kept.other_key:
        return f", and `{kept.other_key}`, which depends on it, is left to you"
    return "" if kept.value == kept.instead_of else f", instead of {render_inline_yaml(kept.instead_of)}"
