"""Rehearsing what is about to run, unless the same has passed before."""

from collections.abc import Sequence
from contextlib import suppress

from holdfast.adapters.rehearsal.passed import mark_of
from holdfast.app.local_inputs import input_digests
from holdfast.app.programs import interpreter_of, program_of
from holdfast.app.rehearse.playing import OnProgress
from holdfast.app.rehearse.verb import rehearse
from holdfast.core.errors import UsageError
from holdfast.results.rehearse import RehearseResult


def rehearse_unless_passed(
    target: str, *, sets: Sequence[str], arguments: Sequence[str], offline: bool, on_progress: OnProgress
) -> RehearseResult | None:
    """Rehearse a job that is about to run; None if the same has passed before.

    Args:
        target: A job file or a script.
        sets: Overrides, `KEY=VALUE`.
        arguments: The script's own arguments.
        offline: Leave the Hub alone.
        on_progress: Told what goes on.

    Raises:
        UsageError: The question was wrong.
    """
    program = program_of(target, sets, arguments)
    with suppress(UsageError):  # the rehearsal itself says what is wrong with a header
        if mark_of(program, interpreter_of(program), input_digests(program)).made_s is not None:
            return None
    return rehearse(target, set=sets, arguments=arguments, offline=offline, on_progress=on_progress)
