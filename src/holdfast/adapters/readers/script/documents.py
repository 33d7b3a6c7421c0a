"""What was read, as Documents: one for each trainer that the program constructs, with the job as that trainer sees it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from holdfast.adapters.readers.script.document_builder import DocumentBuilder
from holdfast.adapters.readers.script.header import read_environment
from holdfast.adapters.readers.script.job_parts import add_job
from holdfast.adapters.readers.script.overrides import overrides
from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.roles import JobCalls, cast, trainers
from holdfast.adapters.readers.script.values import (
    LibraryCall,
    PendingRead,
)
from holdfast.core.job.calls import (
    Import,
)
from holdfast.core.job.document import Document, DocumentKind

MOST_JOBS: Final = 12
"""Most trainers of one file that become jobs: a file with more is a test suite. Every call is recorded all the same."""


def documents(reading: ReadingState, text: str, path: str, kind: DocumentKind = "script") -> tuple[Document, ...]:
    """Return one Document for each trainer, up to twelve; one in all if there is none."""
    ordered = sorted(
        reading.library_calls.values(), key=lambda library_call: (not library_call.main, library_call.order)
    )
    environment = read_environment(text, path, reading.variables)
    jobs = [cast(reading, trainer) for trainer in islice(trainers(reading), MOST_JOBS)] or [JobCalls({}, {})]
    return tuple(_document(reading, (text, path, kind), ordered, job, environment) for job in jobs)


def _document(
    reading: ReadingState,
    source: tuple[str, str, DocumentKind],
    ordered: Sequence[LibraryCall],
    job: JobCalls,
    environment: Any,
) -> Document:
    text, path, kind = source
    shown = _shown_calls(ordered, job)
    page = DocumentBuilder(reading, {id(library_call): key for key, library_call in shown.items()})
    calls = tuple(map(page.call, shown.values()))
    reads = tuple(page.read(read, number) for number, read in enumerate(_shown_reads(reading, page.keys)))
    settings, places, key_places = environment
    if settings:
        page.values["environment"] = settings
    add_job(page, job, {call.key: call for call in calls})
    return Document(
        path=path,
        kind=kind,
        text=text,
        values=page.values,
        places={**page.places, **places},
        key_places={**page.key_places, **key_places},
        imports=tuple(sorted(reading.imports.values(), key=_written)),
        calls=calls,
        reads=reads,
        overrides=tuple(map(page.override, overrides(reading))),
        fallbacks=tuple(reading.fallbacks),
        asked=frozenset(reading.asked),
        assumed=tuple(reading.assumed),
        has_defaults=reading.has_defaults,
    )


def _shown_calls(ordered: Sequence[LibraryCall], job: JobCalls) -> dict[str, LibraryCall]:
    """Return the calls in the script itself, and those of the job, by key."""
    roles = {id(library_call): part for part, library_call in job.parts.items()}
    shown = [library_call for library_call in ordered if library_call.main or id(library_call) in roles]
    return {roles.get(id(library_call), f"calls.{index}"): library_call for index, library_call in enumerate(shown)}


def _shown_reads(reading: ReadingState, keys: Mapping[int, str]) -> Iterator[PendingRead]:
    """Yield the reads of settings: those in the script itself, and what is read elsewhere of what it made.

    An attribute that the program sets, on whatever, may be one of its own.
    """
    for read in reading.reads.values() if "*" not in reading.written else ():
        ours = read.place.path == reading.path or any(id(thing.library_call) in keys for thing in read.things)
        if ours and read.name not in reading.written:
            yield read


def _written(entry: Import) -> tuple[int, int, int]:
    """Return where an import stands, to order by."""
    return entry.place.cell or 0, entry.place.line or 0, entry.place.column or 0
