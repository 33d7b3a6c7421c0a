"""Rehearsals that passed, remembered: the same content need not be rehearsed again.

What counts as the same: holdfast itself, the script with its arguments and variables, and what it ran with. What it reads is no
part of it, so that a dataset that has changed since is not noticed.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.storage.check_cache import digest, holdfast_stamp, user_cache


def passed_at(program: Program, words: Sequence[str]) -> float | None:
    """Return when a rehearsal of the same program, run by the same words, passed, in seconds of the clock."""
    with suppress(OSError):
        return _mark(program, words).stat().st_mtime
    return None


def passed_before(program: Program, words: Sequence[str]) -> bool:
    """True if a rehearsal of the same program, run by the same words, passed."""
    return passed_at(program, words) is not None


def remember_pass(program: Program, words: Sequence[str]) -> None:
    """Remember that one did; where nothing can be written, nothing is remembered."""
    mark = _mark(program, words)
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _mark(program: Program, words: Sequence[str]) -> Path:
    folder = user_cache(os.environ) / "rehearsed"
    variables = [f"{name}={value}" for name, value in sorted(program.variables.items())]
    # One of TRL's scripts has no text of its own here, so that its path is what tells it.
    path = "" if program.source else program.path
    told = ("\0".join(each) for each in (program.arguments, variables, words))
    return folder / digest(
        holdfast_stamp(), path, program.source, str(program.local), str(Path.cwd()), program.module, *told
    )
