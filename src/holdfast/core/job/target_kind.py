"""What a target is, by the ending of its name: the one place where these endings stand."""

from collections.abc import Mapping
from enum import StrEnum, auto
from pathlib import PurePath
from typing import Final

STANDARD_INPUT: Final = "-"


class TargetKind(StrEnum):
    """What a file is read as.

    Attributes:
        JOB: A job file.
        SCRIPT: A Python script; standard input is read as one.
        NOTEBOOK: A notebook.
        COMMANDS: A shell script or a Makefile: command lines.
        OTHER: A file whose name says none of these.
    """

    JOB = auto()
    SCRIPT = auto()
    NOTEBOOK = auto()
    COMMANDS = auto()
    OTHER = auto()

    @property
    def is_program(self) -> bool:
        """True of Python code: a script or a notebook."""
        return self in (TargetKind.SCRIPT, TargetKind.NOTEBOOK)


KINDS: Final[Mapping[str, TargetKind]] = {
    ".yaml": TargetKind.JOB, ".yml": TargetKind.JOB, ".py": TargetKind.SCRIPT, ".ipynb": TargetKind.NOTEBOOK,
    ".sh": TargetKind.COMMANDS, ".bash": TargetKind.COMMANDS, ".slurm": TargetKind.COMMANDS,
    ".sbatch": TargetKind.COMMANDS, ".mk": TargetKind.COMMANDS,
}  # fmt: skip


def target_kind(path: str | PurePath) -> TargetKind:
    """Return what a file is, by its name alone.

    >>> target_kind("jobs/train.yaml").value, target_kind("-").value, target_kind("Makefile").value, target_kind("a.csv").value
    ('job', 'script', 'commands', 'other')
    """
    name = PurePath(path).name
    if str(path) == STANDARD_INPUT:
        return TargetKind.SCRIPT
    return TargetKind.COMMANDS if name == "Makefile" else KINDS.get(PurePath(name).suffix, TargetKind.OTHER)
