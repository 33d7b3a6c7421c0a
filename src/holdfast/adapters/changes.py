"""Waiting until somebody has saved a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.adapters.clock import SystemClock

LOOK_S: Final = 0.2
KINDS: Final = frozenset({".py", ".ipynb", ".yaml", ".yml", ".json", ".jsonl", ".csv", ".jinja", ".toml", ".sh"})
"""Ends of the names of files that a job may read."""

Stamps = Mapping[Path, tuple[int, int]]


def read_stamps(folder: Path) -> Stamps:
    """Return when each file of a folder, but not of those in it, was written (ns), and its bytes."""
    found: dict[Path, tuple[int, int]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix in KINDS and path.is_file():
            stat = path.stat()
            found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


def wait_for_change(folder: Path, before: Stamps) -> Stamps:
    """Wait until the files of a folder are others than before, and no longer being written; return what they are then."""
    clock, last = SystemClock(), read_stamps(folder)
    while True:
        clock.sleep(LOOK_S)
        now = read_stamps(folder)
        if now == last != before:
            return now
        last = now
