"""Scenarios: what a job is for, and the settings that follow from it."""

from collections.abc import Iterator
from typing import Any, Final, Literal, get_args

import msgspec

from holdfast.core.text.inline_yaml import render_inline_yaml

ScenarioName = Literal["demo", "first-run", "production", "fast", "cheap"]
"""The value of `for`."""
SCENARIOS: Final[tuple[ScenarioName, ...]] = get_args(ScenarioName)
Priority = Literal["reliability", "speed", "cost"]
"""What a scenario prefers where these contradict each other."""
SCENARIO_KEY: Final = "for"
CHOSEN: Final = "chosen by `for`"
"""The origin of a value that a scenario sets, as a place has it."""


class ChosenSetting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key of the job that the scenario sets.

    Attributes:
        key: The dotted key.
        value: Its value.
        because: Why.
        costs: What it costs.
        source: Where the claim comes from: a measurement of this repository, or a released library.
    """

    key: str
    value: Any
    because: str
    costs: str
    source: str


class KeptSetting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key that the user wrote, and that the scenario would have set.

    Attributes:
        key: The dotted key that the user wrote.
        value: The user's value.
        instead_of: What the scenario would have set: the value of the same key.
        other_key: The key that the scenario would have set; absent if it is the same key.
    """

    key: str
    value: Any
    instead_of: Any
    other_key: str = ""


class OmittedSetting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A setting of the scenario that does not fit the job.

    Attributes:
        key: The dotted key.
        because: Why it is not set.
    """

    key: str
    because: str


class ScenarioChoices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a scenario changed in a job.

    Attributes:
        name: The scenario.
        prefers: What it prefers to the other two of reliability, speed and cost.
        chosen: The keys that it set.
        kept: The keys that the user wrote, which it left.
        omitted: The settings that do not fit the job.
        overrides: The scenario that the job file names; absent if that is the same, or none.
    """

    name: ScenarioName
    prefers: Priority
    chosen: tuple[ChosenSetting, ...] = ()
    kept: tuple[KeptSetting, ...] = ()
    omitted: tuple[OmittedSetting, ...] = ()
    overrides: str = ""

    def describe(self) -> str:
        """Return it in a line.

        >>> setting = ChosenSetting(key="train.max_steps", value=20, because="", costs="", source="")
        >>> ScenarioChoices(name="demo", prefers="reliability", chosen=(setting,)).describe()
        'demo (prefers reliability): train.max_steps 20'
        """
        return f"{self.name} (prefers {self.prefers}): " + ("; ".join(self._parts()) or "nothing to set")

    def _parts(self) -> Iterator[str]:
        yield from (f"{each.key} {render_inline_yaml(each.value)}" for each in self.chosen)
        yield from (f"{each.key} {render_inline_yaml(each.value)} kept" for each in self.kept)
