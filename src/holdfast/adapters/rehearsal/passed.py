"""Rehearsals that passed, remembered: the same content need not be rehearsed again.

What counts as the same: holdfast itself, the script with its arguments and variables, what it ran with, and the files of this
machine that it is known to read. Not covered: what it reads from the Hub, and from paths that it computes.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import DecodeError
from msgspec import json as typed_json

from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.storage.check_cache import digest, holdfast_stamp, user_cache
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalMark:
    """The mark of a rehearsal that passed: a file whose name says what was rehearsed, with the record of its training.

    Attributes:
        path: The file.
    """

    path: Path

    @property
    def made_s(self) -> float | None:
        """When the rehearsal passed, in seconds of the clock; None if none did."""
        with suppress(OSError):
            return self.path.stat().st_mtime
        return None

    @property
    def training(self) -> RehearsedTraining | None:
        """The training that was rehearsed; None if no rehearsal passed, or none was recorded."""
        with suppress(OSError, DecodeError):
            found = typed_json.decode(read_foreign(self.path), type=RehearsedTraining)
            return replace(found, made_s=self.made_s or 0.0)
        return None

    def make(self, training: RehearsedTraining | None) -> None:
        """Remember that the rehearsal passed; where nothing can be written, nothing is remembered."""
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(typed_json.encode(training) if training else b"")


def mark_of(program: Program, words: Sequence[str], inputs: Sequence[str]) -> RehearsalMark:
    """Return the mark of a rehearsal.

    Args:
        program: What is rehearsed.
        words: The words that run it.
        inputs: What it reads on this machine: paths, each with a digest.
    """
    variables = [f"{name}={value}" for name, value in sorted(program.variables.items())]
    # One of TRL's scripts has no text of its own here, so that its path is what tells it.
    path = "" if program.source else program.path
    joined = ("\0".join(each) for each in (program.arguments, variables, words, inputs, program.gguf))
    name = digest(holdfast_stamp(), path, program.source, str(program.local), str(Path.cwd()), program.module, *joined)
    return RehearsalMark(path=_folder() / name)


def any_passed() -> bool:
    """Whether any rehearsal has passed on this machine."""
    return _folder().is_dir()


def _folder() -> Path:
    return user_cache(os.environ) / "rehearsed"
