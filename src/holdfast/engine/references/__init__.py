"""What a job names outside itself: datasets, models, adapters, repositories to push to, files, addresses, Spaces.

Rooms: `table` says which argument of which call names what; `names` tells repositories from paths; `written` what the program
makes itself, `tokens` whether it asks with a token of its own; `calls` and `settings` read the calls and the keys, `local_data` what
is read from files and folders of this machine.

Covered: job files, scripts, notebooks, TRL's commands and recipes, files of axolotl and LLaMA-Factory. A name that is computed,
or that the program writes itself before it reads it, is no mention.
Not covered: what a library names on its own, such as the base model of an adapter; calls in files beside the script.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from holdfast.core.check.reference import Reference
from holdfast.core.job.document import Document
from holdfast.engine.references.calls import call_references
from holdfast.engine.references.local_data import local_data
from holdfast.engine.references.names import without_repeats
from holdfast.engine.references.settings import job_references, settings_references
from holdfast.engine.references.tokens import brings_token
from holdfast.engine.references.written import read_written, remade

__all__ = ["references"]

WRITES = ("target", "space", "link")


def references(document: Document) -> tuple[Reference, ...]:
    """Return everything that a job names outside itself, in the order in which it is written.

    Args:
        document: The job file, script, command or foreign job file.
    """
    if document.kind == "job":
        return without_repeats([*job_references(document), *call_references(document)])
    if document.kind == "data":
        return ()
    found = [*call_references(document), *local_data(document)]
    named = {each.role for each in found}
    if document.kind == "command":
        found += [each for each in settings_references(document) if each.role not in named]
    own = brings_token(document)
    kept = list(_not_made(document, found))
    return without_repeats([replace(each, own_token=True) if own else each for each in kept])


def _not_made(document: Document, references: Iterable[Reference]) -> Iterator[Reference]:
    """Yield the references that must exist before the program runs, or that it writes to."""
    references = list(references)
    written = read_written(document)
    pushed = {(each.repo_kind, each.name.rpartition("/")[2]) for each in references if each.role == "target"}
    moved = remade(document.calls)
    for each in references:
        if each.role in WRITES:
            if not moved:
                yield each
        elif (
            not any(map(written.holds, each.read.names if each.read else (each.name,)))
            and (each.repo_kind, each.name.rpartition("/")[2]) not in pushed
        ):
            yield each
