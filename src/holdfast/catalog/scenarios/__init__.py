"""The scenarios of `--for`: one TOML file each, with its settings, their conditions, reasons, costs and sources."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from holdfast.core.job.scenario import SCENARIOS, Priority, ScenarioName

ValueRule = Literal["save-interval"]
"""How a value follows from the job: `save-interval` is the job's own `save_steps` or `eval_steps`, else the share of all steps that takes at most
`value` minutes of `where.timeout`."""
JobCondition = Literal["evaluates", "reads-a-table", "writes-text", "unsharded", "recovers-memory"]
"""What has to be true of a job for a setting to fit; `catalog.scenarios.conditions` decides it."""
FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSetting:
    """A setting of a scenario.

    Attributes:
        key: The dotted key; `*` stands for each entry of a list.
        value: Its value, or what the rule needs.
        because: Why.
        costs: What it costs.
        source: Where the claim comes from.
        rule: How the value follows from the job; None if it is the value itself.
        unless: Keys that answer the same question: if the user wrote one, it is kept.
        when: Conditions.
        methods: Methods that it is for; empty for all.
        beside: The key that the scenario must have set too.
    """

    key: str
    value: Any
    because: str
    costs: str
    source: str
    rule: ValueRule | None = None
    unless: tuple[str, ...] = ()
    when: tuple[JobCondition, ...] = ()
    methods: tuple[str, ...] = ()
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a job may be for.

    Attributes:
        name: The value of `for`.
        prefers: What wins where reliability, speed and cost contradict each other.
        about: What the scenario is for, in a sentence.
        why: Why that wins.
        setting: Its settings, in the order in which they are tried.
        left_out: Settings that are often advised, and that it does not make, each with the reason.
    """

    name: ScenarioName
    prefers: Priority
    about: str
    why: str
    setting: tuple[ScenarioSetting, ...]
    left_out: tuple[str, ...] = ()


@cache
def load_scenarios() -> dict[ScenarioName, Scenario]:
    """Return every scenario by its name.

    >>> load_scenarios()["production"].prefers
    'reliability'
    """
    return {name: _read(name) for name in SCENARIOS}


def _read(name: ScenarioName) -> Scenario:
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return msgspec.convert({"name": name, **table}, Scenario)
