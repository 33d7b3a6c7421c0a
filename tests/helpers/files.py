"""Files that a test writes into a folder of its own."""

from collections.abc import Mapping
from pathlib import Path


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, by their paths from a folder, with the folders that they need."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
