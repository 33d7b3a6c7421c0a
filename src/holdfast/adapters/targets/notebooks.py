"""Notebooks: their cells of Python, read as one script."""

from pathlib import Path

from holdfast.adapters.readers.notebook import read_notebook
from holdfast.adapters.readers.script.edits import can_place, place_edits
from holdfast.adapters.targets import Target
from holdfast.adapters.targets.siblings import SiblingModules


def read(text: str, path: str, _: tuple[str, ...], __: tuple[str, ...]) -> Target:
    """Read a notebook.

    Raises:
        UsageError: It is no notebook, or its cells are no Python.
    """
    beside = SiblingModules(Path(path).parent)
    documents = read_notebook(text, path, beside=beside)
    return Target(documents=documents, place_edits=place_edits, can_place=can_place, modules=frozenset(beside.asked))
