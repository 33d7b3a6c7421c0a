"""YAML files: jobs of ours, with the overrides of the environment and the command line in them, and those of others."""

import os
from collections.abc import Iterable
from dataclasses import replace

from holdfast.adapters.overrides import apply_overrides, environment_edits, parse_set
from holdfast.adapters.readers.foreign import find_reader
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import Target
from holdfast.core.document import Document, Edit
from holdfast.core.job import parse_job
from holdfast.core.text import TextEdit


def read(text: str, path: str, sets: tuple[str, ...], _: tuple[str, ...]) -> Target:
    """Read a job file, or one of another program.

    Raises:
        UsageError: An override is none.
        ExceptionGroup: Of a JobError for every problem of the file.
    """
    reader = JobFileReader()
    document = reader.read(text, path)
    if foreign := find_reader(document.values):
        return Target(documents=(foreign(document),), place_edits=place_foreign_edits)
    overrides = (*environment_edits(os.environ), *map(parse_set, sets))
    document = apply_overrides(document, overrides)
    return Target(documents=(document,), job=parse_job(document), place_edits=reader.place_edits)


def place_foreign_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits in another program's file, whose settings stand at its top.

    Raises:
        UsageError: One of them cannot be made.
    """
    original = JobFileReader().read(document.text, document.path)
    return JobFileReader().place_edits(original, [replace(edit, key=edit.key.removeprefix("train.")) for edit in edits])
