"""The files that a service lists for a run. The list comes from elsewhere: a path in it may lead anywhere."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final, TypeVar

Listed = TypeVar("Listed")
LONGEST_NAME: Final = 255
"""Bytes that the name of a file or folder may have on Linux and macOS."""
FORBIDDEN: Final = re.compile(r"[\0\\\ud800-\udc7f\udd00-\udfff]")
"""NUL, the separator of Windows, and what has no bytes in the name of a file."""


def inside_run(listed: Mapping[str, Listed]) -> Mapping[str, Listed]:
    r"""Return the files whose paths are plain paths in the run's folder.

    >>> inside_run({"model/a.bin": 1, "../b": 2, "/c": 3, "d/../../e": 4, "f\\..\\g": 5, "./h": 6, "i//j": 7, "": 8})
    {'model/a.bin': 1}
    """
    return {name: file for name, file in listed.items() if _is_plain(name)}


def _is_plain(name: str) -> bool:
    """True of a relative path without detours: other spellings of a path would escape the rules about that path."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or path.as_posix() != name or FORBIDDEN.search(name):
        return False
    return all(len(part.encode(errors="surrogateescape")) <= LONGEST_NAME for part in path.parts)
