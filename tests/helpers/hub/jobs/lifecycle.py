"""A job from its submission to its end.

Source: the stages are those of `JobStage` (`huggingface_hub/_jobs_api.py` 2.4.0), the texts those of records.py. That a job that cannot pull its image, or
mount a volume, ends as ERROR without ever having run, and that a timeout counts from the start of the job, is assumed; so are the texts for those, for a
lost machine and for spent credit. `attempts` is how often a failed job starts, the first time included (`HfApi.run_job`).
"""

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

from tests.helpers.hub.accounts import identifier
from tests.helpers.hub.jobs import images
from tests.helpers.hub.jobs.logs import started
from tests.helpers.hub.jobs.machine import Machine
from tests.helpers.hub.jobs.mishaps import Mishap, MishapKind
from tests.helpers.hub.jobs.records import CANCELED, COMPLETED, ERROR, RUNNING, SCHEDULING, TIMEOUT, Job
from tests.helpers.hub.jobs.volumes import VolumeError
from tests.helpers.hub.world import World

MESSAGES: dict[MishapKind, str] = {
    "unpullable": "Failed to pull image",
    "machine_gone": "Job failed: the node was lost",
    "out_of_credit": "Job stopped: pre-paid credit balance is insufficient",
    "out_of_memory": "Job failed with exit code: 137. Reason: OOMKilled",
}
NUMBERS = count(1)


def submit(world: World, spec: Mapping[str, Any], namespace: str, initiator: Mapping[str, str]) -> Job:
    """Take a job and start it, in a thread of its own."""
    kind = "user" if namespace in world.accounts.users else "org"
    job = Job(
        id=identifier("job", namespace, world.address, str(next(NUMBERS))),
        namespace=namespace,
        owner_type=kind,
        initiator=initiator,
        spec=spec,
        made_s=world.clock.now_s,
        labels=dict(spec.get("labels") or {}),
    )
    world.jobs.all[job.id] = job
    Thread(target=_live, args=(world, job), daemon=True).start()
    return job


def cancel(world: World, job: Job) -> None:
    """End a job because its owner wants it to; nothing happens to one that has ended."""
    if job.ended:
        return
    job.cancelled = True
    world.clock.stir(job.id)


def end_all(world: World) -> None:
    """End whatever still runs, for the end of a test."""
    world.closing.set()
    for job in list(world.jobs.all.values()):
        if job.machine is not None:
            job.machine.stop(grace_s=0.0)
    world.clock.stir()


def _live(world: World, job: Job) -> None:
    left = int(job.spec.get("attempts") or 1)
    stage, message = ERROR, ""
    while left and stage == ERROR and message != TIMEOUT and not world.closing.is_set():
        left -= 1
        job.stage = SCHEDULING
        stage, message = _run(world, job) if _schedule(world, job) else (CANCELED, "")
    job.machine = None
    job.quiet = True
    world.clock.stir(job.id)
    world.closing.wait(world.jobs.stage_lag_s)
    job.message = message or None
    job.finished_s = world.clock.now_s
    job.stage = stage
    world.clock.stir(job.id)


def _schedule(world: World, job: Job) -> bool:
    """Wait for hardware, and return False if the job was cancelled before there was any."""
    stuck = world.jobs.mishaps.take(job.line, "stuck")
    if stuck is not None:
        job.message = stuck.message
        for _ in range(stuck.markers):
            _say(world, job, started(world.clock.now_s))
        until_s = world.clock.now_s + stuck.after_s if stuck.after_s is not None else float("inf")
        active = world.jobs.mishaps.active
        world.clock.wait(job.id, lambda: job.cancelled or world.closing.is_set() or stuck not in active, until_s)
        job.message = None
    return not (job.cancelled or world.closing.is_set())


def _run(world: World, job: Job) -> tuple[str, str]:
    """Run a job once and return how it ended."""
    name = job.spec.get("dockerImage") or f"spaces/{job.spec.get('spaceId')}"
    image = images.find(world.jobs.images, name)
    unpullable = world.jobs.mishaps.take(job.line, "unpullable")
    if image is None or unpullable is not None:
        return ERROR, (unpullable and unpullable.message) or f"{MESSAGES['unpullable']} {name}"
    fate = world.jobs.mishaps.take(job.line, "machine_gone", "out_of_credit", "out_of_memory")
    job.starts += 1
    machine = Machine(world, job, Path(world.home) / "machines" / f"{job.id}-{job.starts}", fate)
    _say(world, job, started(world.clock.now_s))
    try:
        machine.start(image, lambda line: _say(world, job, line))
    except VolumeError as error:
        machine.settle()
        return ERROR, str(error)
    job.started_s = world.clock.now_s
    job.machine, job.stage = machine, RUNNING
    world.clock.stir(job.id)
    ended = _ended(world, job, machine, fate)
    machine.settle()
    return ended


def _ended(world: World, job: Job, machine: Machine, fate: Mishap | None) -> tuple[str, str]:
    """Wait for a job's end, and return how it came."""

    def over() -> bool:
        ended = machine.exit_code is not None or machine.fallen is not None
        return ended or job.cancelled or world.closing.is_set()

    deadline_s = (job.started_s or 0.0) + job.timeout_s
    if fate is not None and fate.at_line is None and fate.at_file is None:
        falls_s = (job.started_s or 0.0) + (fate.after_s or 0.0)
        if falls_s < deadline_s and not world.clock.wait(job.id, over, falls_s):
            machine.fall(fate)
    in_time = world.clock.wait(job.id, over, deadline_s)
    if machine.fallen is not None:
        fallen = machine.fallen
        machine.stop(grace_s=0.0)
        if fallen.kind == "out_of_credit":
            _spend(world, job.namespace)
        return ERROR, fallen.message or MESSAGES[fallen.kind]
    if machine.exit_code is None:
        machine.stop(grace_s=world.jobs.grace_s)
        return (CANCELED, "") if in_time else (ERROR, TIMEOUT)
    job.exit_code = machine.exit_code
    if machine.exit_code:
        return ERROR, f"Job failed with exit code: {machine.exit_code}. Reason: Error"
    return COMPLETED, ""


def _spend(world: World, namespace: str) -> None:
    owner = world.accounts.users.get(namespace) or world.accounts.organizations.get(namespace)
    if owner is not None:
        owner.pays = False


def _say(world: World, job: Job, line: str) -> None:
    job.lines.append((world.clock.now_s, line))
    world.clock.stir(job.id)
