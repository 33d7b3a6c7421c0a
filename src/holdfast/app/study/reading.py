"""Reading a study file: its job, and the trials that it asks for."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import Target, read_text
from holdfast.adapters.targets.jobs import job_target
from holdfast.adapters.targets.overrides import Override, environment_edits, parse_set
from holdfast.adapters.targets.studies import PATHS, document_of_job, find_job_file, is_study, path_beside
from holdfast.core.errors import GroupedError, HoldfastError, UsageError, flatten
from holdfast.core.job.document import Document, Set
from holdfast.core.job.scenario import SCENARIO_KEY
from holdfast.core.study.study import Study, parse_study
from holdfast.core.study.trial import Trial
from holdfast.core.text.places import Place
from holdfast.engine.run.naming import name_job
from holdfast.engine.study.conditions import condition_errors
from holdfast.engine.study.expansion import expand_trials, varied_values


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFile:
    """A study file that was read.

    Attributes:
        path: The file.
        name: The study's name.
        document: Its content.
        study: The study.
        target: The file that trials are started from: the job file, or the study file if that holds the job.
        job: The job that trials vary.
        trials: The trials.
        scenario: What its trials are for, in place of what the job says; empty if that holds.
    """

    path: str
    name: str
    document: Document
    study: Study
    target: str
    job: Document
    trials: list[Trial]
    scenario: str = ""

    def values_of(self, trial: Trial) -> Iterator[tuple[str, Any]]:
        """Yield each key that a trial changes, with its value; paths are those that lead there from here."""
        folders = dict.fromkeys(_from_here(Path(path).parent) for path in (self.path, self.target))
        for key, value in trial.values.items():
            yield key, path_beside(value, folders) if key in PATHS else value

    def sets_of(self, trial: Trial) -> tuple[str, ...]:
        """Return what a trial changes, as `--set` takes it."""
        named = (f"{SCENARIO_KEY}={self.scenario}",) if self.scenario else ()
        return (*named, *(f"{key}={json.dumps(value)}" for key, value in self.values_of(trial)))

    def place_of(self, trial: Trial, key: str) -> Place:
        """Return where a value that a trial changes stands."""
        return Place(trial.file) if trial.file else self.document.place(trial.sources[key])

    def target_of(self, trial: Trial) -> Target:
        """Return the job of a trial. Each value that the trial changes has its place in the study file.

        Raises:
            ExceptionGroup: Of a JobError for every problem.
        """
        places = {key: self.place_of(trial, key) for key in trial.values}
        own = [Override(Set(key, value), places[key]) for key, value in self.values_of(trial)]
        named = [parse_set(f"{SCENARIO_KEY}={self.scenario}")] if self.scenario else []
        return job_target(self.job, (*environment_edits(os.environ), *named, *own))


def _from_here(folder: Path) -> Path:
    """Return a folder as it is from the current one, if it is in it: a path of another machine begins from there too."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def read_study(path: str) -> StudyFile:
    """Return a study file.

    Raises:
        UsageError: There is no such file, or it is not a study.
        ExceptionGroup: Of an error for everything that is wrong with it, as far as that does not depend on its trials.
    """
    document = JobFileReader().read(read_text(path), path)
    _require_study(document)
    study = parse_study(document)
    target, job, trials, errors = path, None, list[Trial](), list[HoldfastError]()
    conditions: Mapping[str, Any] = {"where": study.where, "unless": study.unless}
    errors += condition_errors(document, conditions, varied_values(study))
    try:
        target, job = _base_job(document)
    except (UsageError, ExceptionGroup) as error:
        errors += flatten(error)
    try:
        usable = study.model_copy(update={"where": [], "unless": []}) if errors else study
        trials = expand_trials(usable, document)
    except GroupedError as error:
        errors += flatten(error)
    if errors or job is None:
        raise GroupedError(f"{path} cannot be run", errors)
    name = study.name or name_job(None, path)
    return StudyFile(path=path, name=name, document=document, study=study, target=target, job=job, trials=trials)


def _require_study(document: Document) -> None:
    """Refuse a job file, which is not misspelt.

    Raises:
        UsageError: It is one.
    """
    if "method" in document.values and "job" not in document.values:
        fix = f"`holdfast run {document.path}` runs it; a study has `job: {document.path}`, `metric`, and what varies"
        raise UsageError(f"{document.path} is a job, and no study", where=document.path, fix=fix)


def _base_job(document: Document) -> tuple[str, Document]:
    """Return the file that trials are started from, and the job in it."""
    if is_study(document.values):
        return document.path, document_of_job(document)
    path = find_job_file(document)
    return path, JobFileReader().read(read_text(path), path)
