"""What was removed of a run on purpose, and why: a study keeps the models of its best settings alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.storage.private_files import write_private

REMOVED: Final = "removed.json"
"""The file of a run that says what was removed, and why."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What was removed of a run.

    Attributes:
        removed: The names of the folders, in the run's folder.
        because: Why.
    """

    removed: Sequence[str] = ()
    because: str = ""


def read_removal(folder: Path) -> Removal:
    """Return what was removed of a run, as far as its record can be read."""
    try:
        record = json.loads(read_foreign_text(folder / REMOVED))
        return Removal([str(each) for each in record["removed"]], str(record["because"]))
    except (OSError, ValueError, TypeError, KeyError):
        return Removal()


def write_removal(folder: Path, removal: Removal) -> None:
    """Write down what is removed of a run.

    Raises:
        OSError: It cannot be written.
    """
    record = {"removed": [*removal.removed], "because": removal.because}
    write_private(folder / REMOVED, json.dumps(record, indent=1) + "\n")
