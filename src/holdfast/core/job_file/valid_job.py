"""The valid part of a job file that breaks its schema: rules check it, so that all mistakes are reported at once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from holdfast.core.errors import GroupedError
from holdfast.core.job.document import Document, Key, Unknown
from holdfast.core.job.methods import Method
from holdfast.core.job_file.job import Job, known_keys, parse_job
from holdfast.core.job_file.problems import meant_keys

HIDDEN: Final = Unknown("the schema objects to it, or to a key that may stand for it")
NAMED: Final = ("model", "dataset")
"""Parts of which every job names a path."""
TRAIN: Final = "train"


class ValidPart(NamedTuple):
    """What is valid of a job file.

    Attributes:
        document: Its document, in which each part that the schema objects to is Unknown.
        job: The job without these parts.
        hidden: The names of these parts.
    """

    document: Document
    job: Job
    hidden: frozenset[str]


def valid_part(document: Document) -> ValidPart | None:
    """Return the valid part of a job file's document; None if it is valid, or what is left is not a job.

    An unknown key may be the misspelt name of any key that the file lacks, so that nothing is concluded from its absence.
    """
    broken = _broken_keys(document)
    if not broken:
        return None
    meant, fields = _method_meant(document.values), known_keys(())
    values = {**document.values, **meant}
    broken = [key for key in broken if key != ("method",) or "method" not in meant]
    hidden = _hidden(broken, fields, values)
    job = _job_without(document, values, hidden)
    if job is None:
        return None
    known = {**values, **dict.fromkeys(hidden, HIDDEN), **_train(values, hidden, broken)}
    return ValidPart(replace(document, values=known, calls=()).with_own_calls(), job, hidden)


def _hidden(broken: Iterable[Key], fields: Collection[str], values: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the parts that the schema objects to, or that an unknown key may stand for."""
    parts = {str(key[0]) for key in broken}
    absent = frozenset(fields) - values.keys()
    return frozenset(parts.intersection(fields)) | (frozenset() if parts.issubset(fields) else absent)


def _job_without(document: Document, values: Mapping[str, Any], hidden: Collection[str]) -> Job | None:
    """Return the job without some parts; None if it is none."""
    names = set(known_keys(())).difference(hidden)
    left = {name: value for name, value in values.items() if name in names}
    try:
        return parse_job(replace(document, values={**left, **_paths(values, hidden)}))
    except GroupedError:
        return None


def _method_meant(values: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the method that a job names in other letters, such as `DPO`: what else is wrong depends on it."""
    named = values.get("method")
    return {"method": named.lower()} if isinstance(named, str) and named.lower() in {*Method} else {}


def _broken_keys(document: Document) -> list[Key]:
    """Return the key paths that the schema objects to."""
    try:
        Job.model_validate(dict(document.values))
    except ValidationError as error:
        return [each["loc"] for each in error.errors(include_url=False)]
    return []


def _paths(values: Mapping[str, Any], hidden: Collection[str]) -> Mapping[str, str]:
    """Return the paths of the model and the dataset where the rest of these parts is hidden."""
    given = {name: values[name].get("path") for name in NAMED if name in hidden and isinstance(values.get(name), dict)}
    return {name: path for name, path in given.items() if isinstance(path, str)}


def _train(values: Mapping[str, Any], hidden: Collection[str], broken: Iterable[Key]) -> Mapping[str, Any]:
    """Return the trainer's arguments, with each hidden that another key may stand for."""
    given = values.get(TRAIN)
    if TRAIN in hidden or not isinstance(given, dict):
        return {}
    meant = (each for key in broken for each in meant_keys(key, known_keys))
    return {TRAIN: {**{str(key[1]): HIDDEN for key in meant if key[0] == TRAIN and key[1:]}, **given}}
