"""What a program names without showing it: a name that is computed, comes from a command line, or is handed on from elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.core.check.reference import Reference, ReferenceRole
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Unknown
from holdfast.core.job.hidden import hidden_in
from holdfast.engine.references.calls import fits, is_config, naming_of, pushes
from holdfast.engine.references.given import ArgumentLookup
from holdfast.engine.references.table import SETTINGS, TRAINER, TRAINER_POSITIONS, Naming

PARTS: Final[Mapping[ReferenceRole, str]] = {"model": "model.path", "dataset": "dataset.path"}
"""Keys of other programs' files that name something."""


def hidden_references(document: Document) -> tuple[Reference, ...]:
    """Return the references of a job whose names the source does not show.

    Args:
        document: The script, command or foreign job file; a job file hides nothing.
    """
    found = [each for call in document.calls for each in _call_references(document, call)]
    if document.kind == "command":
        found += [each for role, key in PARTS.items() for each in _hiding(role, key, document.get(key, None))]
    return tuple({(each.role, each.name): each for each in found}.values())


def _call_references(document: Document, call: Call) -> Iterator[Reference]:
    if call.via == "partial" or call.guard.because:
        return
    naming = naming_of(call)
    if naming is not None:
        yield from _loader_references(ArgumentLookup(document, call, naming.positions), naming)
        return
    written = replace(call, open=False)  # what else may be given to it names nothing that can be spoken of
    if call.name.endswith("Trainer"):
        yield from _argument_references(ArgumentLookup(document, written, TRAINER_POSITIONS), TRAINER)
    elif is_config(call):
        roles: dict[str, ReferenceRole] = {name: each.role for name, each in SETTINGS.items()}
        if pushes(document):
            roles["hub_model_id"] = "target"
        yield from _argument_references(ArgumentLookup(document, written), roles)


def _loader_references(given: ArgumentLookup, naming: Naming) -> Iterator[Reference]:
    name = given.value(naming.name)
    if isinstance(name, str) and not fits(name, naming.role):
        return
    details = (naming.kind_by, naming.revision, naming.config, naming.split, *naming.files, naming.folder)
    yield from _hiding(naming.role, given.key(naming.name), [name, *map(given.value, details)])


def _argument_references(given: ArgumentLookup, roles: Mapping[str, ReferenceRole]) -> Iterator[Reference]:
    for name, role in roles.items():
        yield from _hiding(role, given.key(name), given.value(name))


def _hiding(role: ReferenceRole, key: str, value: Any) -> Iterator[Reference]:
    hidden: Unknown | None = hidden_in(value)
    if hidden:
        yield Reference(role=role, name=key, key=key, hidden=hidden.because)
