"""The tables above the findings of a check. They are drawn by rich, which takes as long to import as a script to check."""

from collections.abc import Iterator

from holdfast.cli.text.checklist import render_checklists
from holdfast.cli.text.scenarios import render_scenario
from holdfast.results.check import CheckResult


def render_tables(result: CheckResult) -> Iterator[str]:
    """Yield what the scenarios of the targets changed, and the checklists."""
    for target in result.targets:
        if target.scenario:
            yield render_scenario(target.path, target.scenario)
    if any(target.checklist for target in result.targets):
        yield render_checklists(result)
