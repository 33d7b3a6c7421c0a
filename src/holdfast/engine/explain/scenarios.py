"""Pages about scenarios: `for` lists all, `for:production` is one."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from holdfast.catalog.scenarios import Scenario, ScenarioSetting, load_scenarios
from holdfast.core.job.scenario import SCENARIO_KEY, SCENARIOS
from holdfast.core.text.inline_yaml import render_inline_yaml
from holdfast.results import Json

SCENARIO_PAGES: Final = {SCENARIO_KEY: SCENARIOS, **{f"{SCENARIO_KEY}:{name}": (name,) for name in SCENARIOS}}
"""The scenarios of each page, by its name."""
HEAD: Final = """# for

`--for SCENARIO` of `check`, `plan`, `rehearse` and `run`, or `for: SCENARIO` in a job file, sets keys that the job does not have. What you
wrote stays, in the file, with `--set` or in the environment; `null` counts as written. A setting that does not fit the job is not made.
`holdfast check job.yaml --for SCENARIO` shows what it would set.
"""


def render_scenarios(page: str) -> str:
    """Return the page of one scenario, or of all of them, in Markdown."""
    scenarios = load_scenarios()
    shown = [scenarios[name] for name in SCENARIO_PAGES[page]]
    head = HEAD if page == SCENARIO_KEY else ""
    return "\n".join([*([head] if head else []), *("\n".join(_scenario_lines(each)) for each in shown)])


def scenarios_json(page: str) -> Json:
    """Return the scenarios of a page with their settings, ready for JSON."""
    listed = [asdict(load_scenarios()[name]) for name in SCENARIO_PAGES[page]]
    return {"scenarios": [{"settings": each.pop("setting"), **each} for each in listed]}


def _scenario_lines(scenario: Scenario) -> Iterator[str]:
    yield f"## for: {scenario.name}\n"
    yield f"{scenario.about} {scenario.prefers.capitalize()} wins. {scenario.why}\n"
    for setting in scenario.setting:
        yield from _setting_lines(setting)
    if scenario.left_out:
        yield "\nNot set:\n"
        yield from (f"- {each}" for each in scenario.left_out)
    yield ""


def _setting_lines(setting: ScenarioSetting) -> Iterator[str]:
    value = f"each {setting.value} minutes of `where.timeout`, at most a tenth of all steps" if setting.rule else ""
    yield f"- `{setting.key}`: {value or render_inline_yaml(setting.value)}"
    yield f"  - because: {setting.because}"
    yield f"  - it costs: {setting.costs}"
    yield f"  - source: {setting.source}"
    if setting.methods:
        yield f"  - for: {', '.join(setting.methods)}"
    if setting.unless:
        yield f"  - not set if you wrote {', '.join(f'`{key}`' for key in setting.unless)}"
