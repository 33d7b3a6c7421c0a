"""YAML files: jobs of ours, with the overrides of the environment and the command line in them, and those of others."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import is_there
from holdfast.adapters.readers.foreign import find_reader
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import KNOWN, PlaceEdits, Target
from holdfast.adapters.targets.overrides import (
    Override,
    apply_overrides,
    environment_edits,
    parse_set,
    require_no_overrides,
)
from holdfast.adapters.targets.studies import document_of_job, is_study, place_study_edits
from holdfast.adapters.yaml.compose import UnsupportedYamlError
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document, Edit, Unknown
from holdfast.core.job.scenario import SCENARIO_KEY
from holdfast.core.job_file.job import Job, parse_job
from holdfast.core.job_file.valid_job import ValidPart, valid_part
from holdfast.core.text.places import TextEdit

TOP_KEY: Final = re.compile(r"""^["']?(\w+)["']?[ \t]*:""", re.MULTILINE)
PARTS: Final = ("method", "model", "dataset", "train", "peft", "quantization")


def read(text: str, path: str, sets: tuple[str, ...], _: tuple[str, ...]) -> Target:
    """Read a job file, or one of another program.

    Raises:
        UsageError: An override is none, or nothing in the file is a job's.
        ExceptionGroup: Of a JobError for every problem of the file.
    """
    try:
        document = JobFileReader().read(text, path)
    except ExceptionGroup as errors:
        unread = _unread(text, path, errors)
        if unread is None:
            raise
        return Target(documents=(unread,), place_edits=place_foreign_edits)
    if is_study(document.values):
        overrides = (*environment_edits(os.environ), *map(parse_set, sets))
        return job_target(document_of_job(document), overrides, place_study_edits)
    if foreign := find_reader(document.values):
        require_no_overrides(path, sets)
        return Target(documents=(foreign(document),), place_edits=place_foreign_edits)
    overrides = (*environment_edits(os.environ), *map(parse_set, sets))
    if not overrides and _is_anothers(document.values):
        raise UsageError(f"{path} is neither a job nor a file of a known program", where=path, fix=KNOWN)
    return job_target(document, overrides)


def job_target(document: Document, overrides: Iterable[Override], place_edits: PlaceEdits | None = None) -> Target:
    """Return the target of a job, with overrides in it, and with the settings of its scenario.

    Args:
        document: The job as its file has it, or as a study file has it under `job`.
        overrides: What goes before the file, each with its place.
        place_edits: Turns edits of the job into edits of the file. Default: the job is the whole file.

    Raises:
        ExceptionGroup: Of a JobError for every problem of the file.
    """
    read = apply_overrides(_found_beside(document), overrides)
    job, scenario = parse_job(read), None
    if job.for_:
        from holdfast.adapters.targets.scenarios import scenario_settings  # of the rules, which not every verb needs

        read, scenario = scenario_settings(read, job, document.get(SCENARIO_KEY, None))
        job = parse_job(read)
    place_edits = place_edits or JobFileReader().place_edits
    return Target(documents=(read,), job=job, place_edits=place_edits, scenario=scenario)


def read_recipe_text(text: str, path: str) -> Document:
    """Return the settings of another program's recipe; where its YAML is not supported here, the parts of a job, unknown.

    Raises:
        ExceptionGroup: Of a JobError for every problem of the file.
    """
    try:
        return JobFileReader().read(text, path)
    except ExceptionGroup as errors:
        unread = _unread(text, path, errors)
        if unread is None:
            raise
        return unread


def read_valid_part(text: str, path: str, sets: tuple[str, ...]) -> ValidPart | None:
    """Return the valid part of a job file that breaks its schema; None if there is none, or an override is broken."""
    try:
        document = JobFileReader().read(text, path)
        document = apply_overrides(_found_beside(document), (*environment_edits(os.environ), *map(parse_set, sets)))
    except (ExceptionGroup, UsageError):
        return None
    return valid_part(document)


def _found_beside(document: Document) -> Document:
    """Return a job file's document in which data and model that stand beside the file are named as they are found from here.

    A path that an override gives is not among them: whoever types it means the folder that they are in.
    """
    found = {key: _path_beside(document, key) for key in ("dataset", "model")}
    found["evaluate"] = _evaluations_beside(document)
    return replace(document, values={**document.values, **{key: value for key, value in found.items() if value}})


def _path_beside(document: Document, key: str) -> Any:
    """Return the value of a key with the path that leads to what it names, from the job file's folder; None if none does."""
    return _named_beside(document, document.values.get(key))


def _named_beside(document: Document, value: Any) -> Any:
    """Return a path, or a mapping with paths, as they lead to what they name; None if none leads elsewhere than it does already."""
    if not isinstance(value, Mapping):
        return _beside(document, value) if isinstance(value, str) and value else None
    found = {"path": _named_beside(document, value.get("path"))}
    if isinstance(mixed := value.get("mix"), list):
        found["mix"] = [_named_beside(document, each) or each for each in mixed]
    return {**value, **{name: each for name, each in found.items() if each}}


def _evaluations_beside(document: Document) -> list[Any] | None:
    """Return the evaluations of a job with the paths that lead to their data and models; None if there are none."""
    given = document.values.get("evaluate")
    if not isinstance(given, list):
        return None
    return [_evaluation_beside(document, each) if isinstance(each, Mapping) else each for each in given]


def _evaluation_beside(document: Document, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    keys = [key for key in ("dataset", "not_worse_than") if key in evaluation]
    return {**evaluation, **{key: _each_beside(document, evaluation[key]) for key in keys}}


def _each_beside(document: Document, value: Any) -> Any:
    """Return a path, or a list of paths, as they lead to what they name; any other value as it is."""
    if isinstance(value, list):
        return [_each_beside(document, each) for each in value]
    return (_beside(document, value) or value) if isinstance(value, str) and value else value


def _beside(document: Document, path: str) -> str | None:
    """Return the path that leads to what stands beside the job file; None if nothing does, or the path leads there already."""
    beside, here = Path(document.path).parent / path, Path(path)
    return str(beside) if is_there(beside) and not (is_there(here) and beside.samefile(here)) else None


def _is_anothers(values: Mapping[str, Any]) -> bool:
    """True if a file names no method, and more of its keys are none of a job's than are."""
    others = sum(name not in Job.model_fields for name in values)
    return "method" not in values and 2 * others > len(values)


def _unread(text: str, path: str, errors: ExceptionGroup[Exception]) -> Document | None:
    """Return the Document of another program's file whose YAML is not supported here: empty, with the reason."""
    unsupported = [error for error in errors.exceptions if isinstance(error, UnsupportedYamlError)]
    is_known = find_reader(dict.fromkeys(TOP_KEY.findall(text))) is not None
    if not is_known or len(unsupported) < len(errors.exceptions):
        return None
    because = Unknown(f"{path} has anchors, aliases or tags, which are not read")
    return Document(path=path, kind="command", text=text, values=dict.fromkeys(PARTS, because))


def place_foreign_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits in another program's file, whose settings stand at its top.

    Raises:
        UsageError: One of them cannot be made.
    """
    original = JobFileReader().read(document.text, document.path)
    return JobFileReader().place_edits(original, [replace(edit, key=edit.key.removeprefix("train.")) for edit in edits])
