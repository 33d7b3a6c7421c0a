"""Study files: a job, and what varies in it. The job may stand in the file itself; it is then read like a job file."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import is_there, read_foreign_text
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.errors import HoldfastError, Spot, UsageError
from holdfast.core.job.document import Document, Edit, Key, ReplaceCall
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.text.places import Place, TextEdit

JOB: Final = "job"
PATHS: Final = ("model", "model.path", "dataset", "dataset.path", "dataset.mix")
"""Keys of a job whose value is a path, or a name of the Hub."""


def is_study(values: Mapping[str, Any]) -> bool:
    """Return whether a file's values are those of a study that holds its job itself.

    >>> is_study({"job": {"method": "sft"}, "metric": "eval_loss"}), is_study({"method": "sft"})
    (True, False)
    """
    return isinstance(values.get(JOB), Mapping) and "method" not in values


def names_study(path: str) -> bool:
    """Return whether a path is that of a study file, whatever its job is; what cannot be read is none."""
    if target_kind(path) is not TargetKind.JOB or not Path(path).is_file():
        return False
    with suppress(HoldfastError, ExceptionGroup, OSError):  # what reads it as a target reports it
        values = JobFileReader().read(read_foreign_text(Path(path)), path).values
        return JOB in values and "method" not in values
    return False


def document_of_job(study: Document) -> Document:
    """Return the job that a study file holds, with its places in that file."""
    values = study.values[JOB]

    def inner(places: Mapping[Key, Place]) -> dict[Key, Place]:
        return {key[1:]: place for key, place in places.items() if key[0] == JOB and key[1:]}

    job = replace(study, values=values, places=inner(study.places), key_places=inner(study.key_places), calls=())
    return job.with_own_calls()


def place_study_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits of a job in the study file that holds it.

    Raises:
        UsageError: One of them cannot be made.
    """
    study = JobFileReader().read(document.text, document.path)
    inner = [each if isinstance(each, ReplaceCall) else replace(each, key=f"{JOB}.{each.key}") for each in edits]
    return JobFileReader().place_edits(study, inner)


def find_job_file(study: Document) -> str:
    """Return the path of the job file that a study names: from the study file's folder, else from the current one.

    Raises:
        UsageError: There is none, or it is not a job file.
    """
    named, place = str(study.values[JOB]), study.place(JOB)
    where = Spot.of(place)
    found = next((path for path in (Path(study.path).parent / named, Path(named)) if path.is_file()), None)
    if found is None:
        raise UsageError(
            f"no such job file: {named}", where=where, fix="name one beside the study file, or write the job here"
        )
    if target_kind(found) is not TargetKind.JOB:
        raise UsageError(
            f"{named} is not a job file", where=where, fix="name a job file (.yaml); a script has no keys to vary"
        )
    return str(found)


def path_beside(value: Any, folders: Iterable[Path]) -> Any:
    """Return the path of a value of a study, from here: it is looked up in these folders; as it is if nothing is there."""
    if isinstance(value, Mapping):
        return {**value, **{key: path_beside(value[key], folders) for key in ("path", "mix") if key in value}}
    if isinstance(value, list):
        return [path_beside(each, folders) for each in value]
    return _path_in(folders, value) if isinstance(value, str) else value


def _path_in(folders: Iterable[Path], name: str) -> str:
    """Return the path of a file or folder in the first of the folders that has it; else the name."""
    if not name or ":" in name:
        return name
    return next((str(folder / name) for folder in folders if is_there(folder / name)), name)
