"""Preparing an attempt: its folder, its script, and the checkpoint that it continues from."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.payload import load_runtime
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.storage.checkpoints import load_settings, step_in
from holdfast.adapters.storage.damaged_checkpoints import set_aside
from holdfast.adapters.storage.resolved import RESOLVED_JOB_FILE, resolved_yaml
from holdfast.adapters.storage.run_folder import write_redacted, write_whole
from holdfast.core.errors import LedgerError
from holdfast.core.job_file.job import parse_job
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.checkpoint import CheckpointIntegrity, describe_damage
from holdfast.core.run.event import Event, training_events
from holdfast.core.run.plan import Attempt, Plan
from holdfast.core.run.remedy import AppliedRemedy
from holdfast.core.run.run_state import RunState, fold
from holdfast.core.run.training_event import CheckpointSaved
from holdfast.engine.recover.checkpoints import usable_steps
from holdfast.engine.recover.replanning import remedied_job, remedied_plan, with_changes
from holdfast.engine.run.attempt import render_attempt
from holdfast.engine.run.resuming import refused_settings
from holdfast.ports import AttemptOutput


def prepare_attempt(
    run: Path, events: Sequence[Event], plan: Plan, output: AttemptOutput, number: int, *, resume: bool
) -> Attempt:
    """Make an attempt's folder, and find the checkpoint that it continues from.

    Args:
        run: The run's folder.
        events: The run's events.
        plan: What its attempts start from.
        output: The output of its attempts.
        number: The attempt's number, from 1.
        resume: Continue from the newest complete checkpoint of the run.
    """
    folder, state = run / "attempts" / str(number), fold(events)
    job = remedied_job(plan, state.remedies)
    plan = remedied_plan(plan, state.remedies)
    write_whole(folder / "attempt.py", render_attempt(plan.script, plan.script_name, load_runtime()))
    _write_remedied_job(run, folder, state.remedies)
    checkpoint, damaged = _newest_checkpoint(output, state, events) if resume else (None, ())
    # An attempt that was submitted, of which the ledger has no id yet, may be saving at this moment.
    is_new = all(each.number != number for each in state.attempts)
    describe = set_aside if is_new and capabilities_of(plan.backend).shares_files else describe_damage
    checkpoint = checkpoint or _base_checkpoint(plan, events)
    saved = load_settings(Path(checkpoint)) if checkpoint and job else {}
    return Attempt(
        run=run.name,
        number=number,
        folder=str(folder),
        plan=plan,
        resume_from=checkpoint,
        passed_over=tuple(map(describe, damaged)),
        accepted=state.allowed_changes,
        refused=tuple(refused_settings(job, plan.script, saved, state.allowed_changes)) if job else (),
    )


def _write_remedied_job(run: Path, attempt: Path, remedies: Sequence[AppliedRemedy]) -> None:
    """Write `job.yaml` into an attempt's folder where remedies changed the job; `holdfast run` takes it like any other."""
    changes = [change for remedy in remedies for change in remedy.changes]
    if not changes:
        return
    with suppress(OSError, LedgerError, ExceptionGroup):  # the attempt does not read it
        job = parse_job(JobFileReader().read(read_foreign_text(run / RESOLVED_JOB_FILE), RESOLVED_JOB_FILE))
        write_redacted(attempt / "job.yaml", resolved_yaml(with_changes(job, changes)))


def _newest_checkpoint(
    output: AttemptOutput, state: RunState, events: Sequence[Event]
) -> tuple[str | None, Sequence[CheckpointIntegrity]]:
    """The newest complete checkpoint that a run saved, and the newer ones that it cannot continue from."""
    saved = {str(Path(each.path).parent) for each in training_events(events, CheckpointSaved) if each.path}
    submitted = [attempt for attempt in state.attempts if attempt.id]
    if not submitted:
        return None, ()
    return output.newest_checkpoint(submitted[-1], saved, usable_steps(events).has)


def _base_checkpoint(plan: Plan, events: Sequence[Event]) -> str | None:
    """The checkpoint that a run was started from; None if there is none, or if a remedy has training start over."""
    step = step_in(Path(plan.resume_from)) if plan.resume_from else None
    return plan.resume_from if step is not None and usable_steps(events).has(step) else None
