"""Training scripts: any user's, read by `ast`, with the modules that lie beside them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.script.edits import can_place, place_edits
from holdfast.adapters.targets import Target
from holdfast.adapters.targets.siblings import SiblingModules, SiblingSettings
from holdfast.catalog.hub.jobs import IMAGES, UV
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document, Edit, Set, apply_edits
from holdfast.core.text.places import TextEdit


def read(text: str, path: str, _: tuple[str, ...], arguments: tuple[str, ...]) -> Target:
    """Read a script.

    Raises:
        UsageError: It is not valid Python, or its arguments name a file of settings that is not there.
    """
    beside = SiblingModules(Path(path).parent)
    files = SiblingSettings(Path(), Path(path).parent)
    documents = read_script(text, path, beside=beside, argv=arguments or None, files=files)
    files.require(arguments, path)
    by_default: tuple[Document, ...] = ()
    if arguments:
        documents = _with_arguments(documents, arguments)
    elif documents[0].has_defaults:
        by_default = read_by_default(text, path, beside, files)
    submits = _submits(documents[0])
    if submits:
        # What reads command lines is not imported for a script that sends nothing.
        from holdfast.adapters.targets.submitted import read_submitted

        documents = (*documents, *read_submitted(documents))
    return Target(
        documents=documents,
        place_edits=place_own_edits,
        can_place=can_place_own,
        modules=frozenset(beside.asked),
        reads_more=submits or bool(files.asked),
        by_default=by_default,
    )


def _with_arguments(documents: Iterable[Document], arguments: Iterable[str]) -> tuple[Document, ...]:
    given = Set("launch.arguments", list(arguments))
    return tuple(replace(each, values=apply_edits(each.values, [given])) for each in documents)


def _submits(document: Document) -> bool:
    """True if a script sends jobs to Hugging Face Jobs."""
    return any(call.name in UV | IMAGES for call in document.calls)


def read_by_default(text: str, path: str, beside: SiblingModules, files: SiblingSettings) -> tuple[Document, ...]:
    """Return the documents of a script whose options have their defaults; empty if none of these is known."""
    documents = read_script(text, path, beside=beside, files=files, by_default=True)
    return documents if documents[0].assumed else ()


def place_own_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits in a script, but not in a command that stands in one of its strings.

    Raises:
        UsageError: One of them cannot be made.
    """
    if document.kind == "script":
        return place_edits(document, edits)
    raise UsageError("a command in a string is not edited", where=document.path, fix="make the change by hand")


def can_place_own(document: Document, edits: Iterable[Edit]) -> bool:
    """True if edits can be made in a script."""
    return document.kind == "script" and can_place(document, edits)
