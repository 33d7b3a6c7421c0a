"""Settings that another program reads from YAML or JSON: as PyYAML has them, which knows YAML 1.1, each with its place."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Final

from holdfast.core.document import Document

SettingsFiles = Callable[[str], Document | None]
"""Gives the settings of a file by its name, or None where it is not at hand, or is nothing that can be read."""

ENDINGS: Final = (".yaml", ".yml", ".json")


def read_settings(text: str, path: str) -> Document:
    """Return what a file of settings holds.

    Raises:
        ExceptionGroup: Of a JobError for every objection to it.
    """
    # A YAML parser takes longer to import than a script takes to check, and few commands name a file.
    reader = import_module("holdfast.adapters.readers.job_file").JobFileReader()
    setting = import_module("holdfast.adapters.readers.foreign.mapping").setting
    document: Document = reader.read(text, path)
    values = {name: setting(document, name) for name in document.values}
    return replace(document, kind="command", values=values, calls=())
