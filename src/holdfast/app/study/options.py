"""How the trials of a study become runs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.app.study.preparing import PreparedTrial
from holdfast.app.study.reading import StudyFile
from holdfast.core.job.trackers import TRACKER_KEYS
from holdfast.core.job_file.job import Job
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.plan import RunRequest
from holdfast.engine.study.devices import device_sets

NAMED_DIGITS = 6
"""Digits of a trial's hash in the names of its runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The options of `holdfast study` that concern its runs.

    Attributes:
        runs: The runs folder.
        despite: Codes of rules that don't refuse a job.
        offline: Whether the Hub is left alone.
        rehearse: Whether each shape is rehearsed.
        retry: Whether trials that failed run again.
    """

    runs: Path
    despite: tuple[str, ...] = ()
    offline: bool = False
    rehearse: bool = True
    retry: bool = False


def run_request(
    file: StudyFile, options: StudyOptions, prepared: PreparedTrial, devices: Sequence[str], slot: int
) -> RunRequest:
    """Return the request for the run of a trial.

    Args:
        file: The study.
        options: The options.
        prepared: The trial.
        devices: The GPUs of this machine, as `CUDA_VISIBLE_DEVICES` names them.
        slot: Which of the trials that run at once it is, from 0.
    """
    job = prepared.job
    named = [f"name={file.name}-{prepared.content[:NAMED_DIGITS]}"]
    named += [f"track.{key}={name}" for key, name in tracked_names(job, file.name).items()]
    here = capabilities_of(job.where.backend).is_here
    return RunRequest(
        target=str(Path(file.target).absolute()),
        cwd=str(Path.cwd()),
        sets=(
            *file.sets_of(prepared.trial),
            *named,
            *(device_sets(devices, file.study.parallel, slot) if here else ()),
        ),
        despite=options.despite,
        offline=options.offline,
        rehearse=options.rehearse,
        study=file.name,
        trial=prepared.content,
    )


def tracked_names(job: Job, study: str) -> dict[str, str]:
    """Return the project and the group under which a tracker has the trials of a study, as far as the job names none."""
    keys = {"project", "group"}.intersection(TRACKER_KEYS[job.track.with_])
    return {key: study for key in sorted(keys) if getattr(job.track, key) is None}


def visible_devices() -> list[str]:
    """Return the GPUs of this machine, as `CUDA_VISIBLE_DEVICES` names them."""
    count = len(LocalMachine().fetch().gpus)
    visible = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    return visible[:count] if visible else [str(number) for number in range(count)]
