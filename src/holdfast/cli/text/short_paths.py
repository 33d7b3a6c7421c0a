"""Paths as a person reads and clicks them: within the current folder without what leads there."""

import os
from pathlib import Path


def short_path(path: str) -> str:
    """Return a path within the current folder as seen from there, so that it fits a line; others as they are."""
    here = f"{Path.cwd()}{os.sep}"
    return path.removeprefix(here) or path
