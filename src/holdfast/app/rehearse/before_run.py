"""Rehearsing what is about to run, unless the same has passed before."""

import time
from contextlib import suppress

from holdfast.adapters.rehearsal.passed import mark_of
from holdfast.adapters.rehearsal.programs import Program
from holdfast.app.rehearse.playing import OnProgress
from holdfast.app.rehearse.rehearsing import RehearsalOptions, make_result, rehearse_program
from holdfast.app.targets.local_inputs import input_digests
from holdfast.app.targets.programs import interpreter_of
from holdfast.core.errors import UsageError
from holdfast.results.rehearse import RehearseResult


def rehearse_unless_passed(program: Program, *, offline: bool, on_progress: OnProgress) -> RehearseResult | None:
    """Rehearse a program that is about to run; None if the same has passed before.

    Args:
        program: The program, as it was read for the run.
        offline: Don't contact the Hub.
        on_progress: Called with each message about progress.

    Raises:
        UsageError: The script needs other arguments, or no environment at hand serves.
    """
    with suppress(UsageError):  # the rehearsal itself says what is wrong with a header
        if mark_of(program, interpreter_of(program), input_digests(program)).made_s is not None:
            return None
    began_s = time.monotonic()
    rehearsal = rehearse_program(program, RehearsalOptions(offline=offline, on_progress=on_progress))
    return make_result(program, rehearsal, time.monotonic() - began_s)
