"""Rehearsals that a program has passed on this machine."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from holdfast.adapters.rehearsal.passed import RehearsalMark, mark_of
from holdfast.adapters.rehearsal.programs import Program
from holdfast.app.targets.local_inputs import input_digests
from holdfast.app.targets.programs import interpreter_of, program_of
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining


def passed_rehearsals(program: Program) -> Iterator[RehearsalMark]:
    """Yield the rehearsals that the same content has passed: as it is, and for this machine."""
    with suppress(UsageError):  # no environment at hand serves, so that none was rehearsed
        words, inputs = interpreter_of(program), input_digests(program)
        for each in dict.fromkeys((program.local, True)):
            mark = mark_of(replace(program, local=each), words, inputs)
            if mark.made_s is not None:
                yield mark


def find_rehearsed_training(program: Program) -> RehearsedTraining | None:
    """Return the training of a program as its newest rehearsal saw it; None if it passed none, or none was recorded."""
    found = [each for mark in passed_rehearsals(program) if (each := mark.training)]
    return max(found, key=lambda each: each.made_s, default=None)


def find_rehearsed_target(path: str, sets: Sequence[str], arguments: Sequence[str]) -> RehearsedTraining | None:
    """Return the training of a target as its newest rehearsal saw it; None if it was not rehearsed, or cannot be turned into a program."""
    with suppress(HoldfastError):  # a GroupedError is one
        return find_rehearsed_training(program_of(path, sets, arguments))
    return None
