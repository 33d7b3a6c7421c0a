"""The settings that a scenario makes in a job: each as an edit of its document. What the user wrote wins."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.catalog.scenarios import ScenarioSetting, load_scenarios
from holdfast.catalog.scenarios.conditions import fit_setting
from holdfast.core.job.document import ABSENT, Document, Set
from holdfast.core.job.scenario import (
    CHOSEN,
    SCENARIO_KEY,
    ChosenSetting,
    KeptSetting,
    OmittedSetting,
    ScenarioChoices,
    ScenarioName,
)
from holdfast.core.job_file.job import Job, parse_job
from holdfast.core.text.places import Place

EACH = "*"
"""The part of a key that stands for each entry of a list."""


Objections = Callable[[Document], Collection[str]]
"""What `check` objects to in a job, each as a message that names the rule."""


def choose_settings(
    document: Document, job: Job, *, rows: int | None, objections: Objections
) -> tuple[Document, ScenarioChoices] | None:
    """Return the document of a job with the settings of its scenario, and which these are; None if it names no scenario.

    Args:
        document: The job's, with all overrides in it. Every key in it is the user's.
        job: The job.
        rows: The number of rows of the training data; None if it is not known.
        objections: Gives what is wrong with a job. A setting that adds to this is not made.
    """
    if job.for_ is None:
        return None
    every = _Chooser(original=document, document=document, job=job, rows=rows)
    careful = replace(every, chosen=[], kept=[], omitted=[], objections=objections)
    before = objections(document)
    every.choose_all(job.for_)
    good = all(each in before for each in objections(every.document))
    chooser = every if good else careful
    if chooser is careful:  # which asks after each setting, and so takes longer
        chooser.choose_all(job.for_)
    return chooser.document, chooser.choices(job.for_)


@dataclass(slots=True, kw_only=True)
class _Chooser:
    """Makes the settings of a scenario, one after the other."""

    original: Document
    document: Document
    job: Job
    rows: int | None
    chosen: list[ChosenSetting] = field(default_factory=list[ChosenSetting])
    kept: list[KeptSetting] = field(default_factory=list[KeptSetting])
    omitted: list[OmittedSetting] = field(default_factory=list[OmittedSetting])
    objections: Objections = lambda _: ()

    def choices(self, name: ScenarioName) -> ScenarioChoices:
        """Return what was done."""
        prefers = load_scenarios()[name].prefers
        return ScenarioChoices(
            name=name, prefers=prefers, chosen=(*self.chosen,), kept=(*self.kept,), omitted=(*self.omitted,)
        )

    def choose_all(self, name: ScenarioName) -> None:
        """Make the settings of a scenario."""
        for setting in load_scenarios()[name].setting:
            self.choose(setting)

    def choose(self, setting: ScenarioSetting) -> None:
        """Make a setting, unless the user has decided on it, or it does not fit."""
        for each in filter(self._has_companion, _expanded(setting, self.original)):
            fitting = fit_setting(each, self.job, self.rows)
            mine = self._written(each)
            if mine:
                if not fitting.because:
                    self.kept.append(_kept(mine, self.original, each, fitting.value))
            elif fitting.because:
                self.omitted.append(OmittedSetting(key=each.key, because=fitting.because))
            else:
                self._set(each, fitting.value)

    def _has_companion(self, setting: ScenarioSetting) -> bool:
        """True if the setting beside which one is made was made, or it needs none."""
        return not setting.beside or any(chosen.key == setting.beside for chosen in self.chosen)

    def _written(self, setting: ScenarioSetting) -> str:
        """Return the key by which the user has decided on a setting; empty if there is none. A key without a value decides too."""
        return next(
            (key for key in (setting.key, *setting.unless) if self.original.get(key) is not ABSENT),
            "",
        )

    def _set(self, setting: ScenarioSetting, value: Any) -> None:
        place = Place(f"{SCENARIO_KEY}: {self.job.for_}", origin=CHOSEN)
        changed = self.document.with_values([Set(setting.key, value)], place)
        if refused := self._new_objection(changed):
            self.omitted.append(OmittedSetting(key=setting.key, because=f"with your other settings: {refused}"))
            return
        self.document, self.job = changed, parse_job(changed)
        self.chosen.append(
            ChosenSetting(
                key=setting.key, value=value, because=setting.because, costs=setting.costs, source=setting.source
            )
        )

    def _new_objection(self, changed: Document) -> str:
        before = self.objections(self.document)
        return next((each for each in self.objections(changed) if each not in before), "")


def _kept(key: str, document: Document, setting: ScenarioSetting, value: Any) -> KeptSetting:
    other = "" if key == setting.key else setting.key
    return KeptSetting(key=key, value=document.get(key), instead_of=value, other_key=other)


def _expanded(setting: ScenarioSetting, document: Document) -> Iterator[ScenarioSetting]:
    """Yield a setting for each entry of the list that its key goes through; any other setting as it is."""
    before, each, after = setting.key.partition(f".{EACH}.")
    if not each:
        yield setting
        return
    entries = document.get(before, ())
    for position in range(len(entries) if isinstance(entries, list) else 0):
        yield replace(setting, key=f"{before}.{position}.{after}")
