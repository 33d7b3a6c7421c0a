"""Files that trials elsewhere would lack: found for all trials before any of them starts."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.adapters.targets import Target
from holdfast.app.run.backends import require_backend
from holdfast.app.run.own_files import with_own_files
from holdfast.app.targets.rendering import script_of
from holdfast.core.errors import UsageError
from holdfast.core.job_file.job import Job
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.plan import Plan
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.script.carried_files import referred_files


def unsendable(trials: Iterable[tuple[int, Target]]) -> Iterator[tuple[list[int], UsageError]]:
    """Yield what cannot be sent to the machines of trials, with the numbers of the trials; trials that name the same files are looked at once.

    Args:
        trials: The number of each trial, and its target.
    """
    alike: dict[str, list[tuple[int, Target]]] = {}
    for number, target in trials:
        if target.job and capabilities_of(target.job.where.backend).carries_files:
            alike.setdefault(_names(target.job), []).append((number, target))
    for same in alike.values():
        try:
            _send(same[0][1])
        except UsageError as error:
            yield [number for number, _ in same], error


def _names(job: Job) -> str:
    """Return all of a job that decides which files are sent."""
    data = [job.dataset.path, *(each.path for each in job.dataset.mix)]
    where = [job.where.backend, job.where.options]
    return render_canonical([job.model.path, data, referred_files(job), job.model_dump()["evaluate"], where])


def _send(target: Target) -> None:
    """Look for the files of a trial, as its run does.

    Raises:
        UsageError: Its machine would lack one, or they are too many or too large.
    """
    if target.job is None:
        return
    plan = Plan(name="", script=script_of(target), script_name=target.document.path, cwd=str(Path.cwd()))
    where = target.job.where
    with_own_files(plan, target, (), require_backend(where.backend).mounted(where.options))
