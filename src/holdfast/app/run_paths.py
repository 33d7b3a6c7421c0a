"""Which runs folder a run's name is looked up in, and in which other one it is."""

import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.storage.journal import JOURNAL
from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.arguments import PathName, runs_folder
from holdfast.engine.run.naming import matching_runs

RUNS: Final = "runs"
INDEX: Final = "ledger.sqlite"


def folder_of_runs(name: PathName, runs: PathName | None) -> Path:
    """Return the runs folder in which a run is looked up: for the path of a run's folder, also of a copy, the folder around it."""
    path = expanded(str(name))
    if runs is None and os.sep in str(name) and (is_there(path.parent / INDEX) or is_there(path / JOURNAL)):
        return path.resolve().parent
    return runs_folder(runs)


def hint_at_parents(wanted: str, base: Path) -> str | None:
    """Return how to name a run that is not in the runs folder, but in that of a folder above; None if none has it."""
    for folder in _runs_above(base):
        found = matching_runs(wanted, Ledger(folder).runs())
        if len(found) == 1:
            return f"`--runs {quote(os.path.relpath(folder))}` has {found[0]}"
    return None


def _runs_above(base: Path) -> Iterator[Path]:
    """Yield the runs folders of the folders above, the nearest first."""
    above = (folder / RUNS for folder in base.parent.parents)
    return (folder for folder in above if is_there(folder / INDEX))
