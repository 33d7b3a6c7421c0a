"""What a program's launchers say, put into what the program itself says."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.adapters.readers.command_line.launchers import PYTHON as PYTHON_ITSELF
from holdfast.adapters.readers.command_line.launchers import Launch
from holdfast.core.job.document import ABSENT, Document, Key, Set, Unknown, apply_edits, render_key
from holdfast.core.text.places import Place

REQUIREMENTS = "environment.requirements"
BY, ADDED, PYTHON = "launch.by", "launch.requirements", "launch.python"
"""The launchers, what they add to a program's own requirements, and the Python that they ask for."""


def with_launch(document: Document, launch: Launch) -> Document:
    """Return a document with what its launchers say, where it does not say that itself.

    What they install stands beside what the program's own header asks for.
    """
    values = {
        key: value
        for key, value in launch.values.items()
        if key != REQUIREMENTS and document.get(key) is ABSENT and not isinstance(document.get(_parent(key)), Unknown)
    }
    edits = [Set(key, value) for key, value in (values | _launch(document, launch)).items()]
    places = {
        key: place for key, place in launch.places.items() if {render_key(key), render_key(key[:-1])} & values.keys()
    }
    joined = replace(document, values=apply_edits(document.values, edits), places={**places, **document.places})
    added = launch.values.get(REQUIREMENTS, [])
    return _with_requirements(joined, added, launch.places) if added else joined


def _launch(document: Document, launch: Launch) -> dict[str, Any]:
    # A script's header is read by uv alone, and only where uv starts the script itself.
    started = ["python"] if launch.words and PYTHON_ITSELF.fullmatch(launch.words[0].text) else []
    values = {
        BY: [*launch.by, *started, *document.get(BY, [])],
        ADDED: launch.values.get(REQUIREMENTS),
        PYTHON: launch.values.get("environment.python"),
    }
    return {key: value for key, value in values.items() if value}


def _with_requirements(document: Document, added: list[Any], places: Mapping[Key, Place]) -> Document:
    own = document.get(REQUIREMENTS, [])
    if not isinstance(own, list):
        return document
    at: Key = tuple(REQUIREMENTS.split("."))
    moved = {(*at, len(own) + index): places[*at, index] for index in range(len(added)) if (*at, index) in places}
    values = apply_edits(document.values, [Set(REQUIREMENTS, [*own, *added])])
    return replace(document, values=values, places={**moved, **document.places})


def _parent(key: str) -> str:
    return key.rpartition(".")[0]
