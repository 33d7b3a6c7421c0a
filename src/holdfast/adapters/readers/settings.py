"""Settings that another program reads from YAML or JSON: as PyYAML has them, which knows YAML 1.1, each with its place."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from holdfast.core.job.document import Document

SettingsFiles = Callable[[str], Document | None]
"""Gives the settings of a file by its name, or None if it is not at hand, or is nothing that can be read."""

ENDINGS: Final = (".yaml", ".yml", ".json")
WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
NUMBER: Final = re.compile(r"-?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18}|[0-9]{1,18})(?:[eE][+-]?[0-9]{1,3})?")
SWITCHES: Final = {"true": True, "false": False}


def read_settings(text: str, path: str) -> Document:
    """Return the Document of a settings file.

    Raises:
        ExceptionGroup: Of a JobError for every objection to it.
    """
    # A YAML parser takes longer to import than a script takes to check, and few commands name a file.
    from holdfast.adapters.readers.foreign.mapping import setting
    from holdfast.adapters.readers.job_file import JobFileReader

    reader = JobFileReader()
    document: Document = reader.read(text, path)
    values = {name: setting(document, name) for name in document.values}
    return replace(document, kind="command", values=values, calls=())


def plain(value: Any) -> Any:
    """Return the number or switch that a command line's text is; anything else as it is.

    >>> plain("8"), plain("2e-5"), plain("False"), plain("Qwen/Qwen3-8B"), plain(["1"])
    (8, 2e-05, False, 'Qwen/Qwen3-8B', ['1'])
    """
    if not isinstance(value, str):
        return value
    if WHOLE.fullmatch(value):
        return int(value)
    return float(value) if NUMBER.fullmatch(value) else SWITCHES.get(value.lower(), value)
