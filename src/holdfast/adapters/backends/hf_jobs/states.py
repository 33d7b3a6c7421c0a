"""What the Hub says of a job, as the result of a poll.

Source: `JobStage` of huggingface_hub 2.4.0 (`_jobs_api.py`). Messages as users quote them: "Job timeout" (threads #3281, #3386),
"Job failed with exit code: 137. Reason: OOMKilled". Whatever is not known to be an end is none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from holdfast.catalog.hub.flavors import Flavor, load_flavors
from holdfast.core.run.event import Liveness
from holdfast.core.run.usage import MachineUsage
from holdfast.core.text.numbers import is_number
from holdfast.ports import PollResult

if TYPE_CHECKING:
    from huggingface_hub import JobInfo

QUEUED: Final = "queued for hardware"
LONG_S: Final = 900.0
"""How long a job waits for hardware before it is said that it is long; usually it is a minute or two."""
SHOWN: Final = 4
"""How many other flavors are named."""
WAITING: Final = "SCHEDULING"
RUNNING: Final = ("RUNNING", "UPDATING")
ALIVE: Final = (WAITING, "RUNNING")
"""The stages of jobs that have not ended, as far as `JobStage` names them."""
EXIT: Final = re.compile(r"exit code:? (\d+)")
PLAIN_EXIT: Final = re.compile(r"Job failed with exit code: \d+\.?(?: Reason: Error\.?)?")
"""A message that says no more than the exit code."""
TIMEOUT: Final = "Job timeout: the time that it was given on the Hub is over"
CANCELED: Final = "the job was cancelled by its owner, or by the Hub (stage=CANCELED)"
DELETED: Final = "the job was deleted by its owner, or by the Hub (stage=DELETED)"


@dataclass(frozen=True, slots=True)
class JobState:
    """What the Hub says of a job.

    Attributes:
        made_s: Unix time of its submission, if the Hub says it.
    """

    stage: str
    message: str
    flavor: str = ""
    made_s: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it never runs again."""
        return self.stage in ("COMPLETED", "CANCELED", "ERROR", "DELETED")


def parse_state(info: "JobInfo") -> JobState:
    """Return the state of a job from what the Hub says of it."""
    stage = info.status.stage
    made_s = info.created_at.timestamp() if info.created_at else None
    flavor = str(getattr(info.flavor, "value", info.flavor) or "")
    return JobState(str(getattr(stage, "value", stage)), info.status.message or "", flavor, made_s)


def poll_result(stage: str, message: str) -> PollResult:
    """Return the result of a poll from a job's stage and the message beside it.

    >>> poll_result("ERROR", "Job failed with exit code: 3. Reason: Error").exit_code
    3
    >>> poll_result("THAWING", "").because
    'the Hub calls the stage of the job THAWING, which holdfast does not know'
    """
    if stage == WAITING:
        phase = f"{QUEUED}: {message}" if message else QUEUED
        return PollResult(answer=Liveness.ALIVE, phase=phase, waiting=True)
    if stage in RUNNING:
        return PollResult(answer=Liveness.ALIVE)
    if stage == "COMPLETED":
        return PollResult(answer=Liveness.ENDED, exit_code=0)
    if stage in ("CANCELED", "DELETED"):
        return PollResult(answer=Liveness.ENDED, because=CANCELED if stage == "CANCELED" else DELETED)
    if stage == "ERROR":
        return _failure(message)
    because = f"the Hub calls the stage of the job {stage}, which holdfast does not know"
    return PollResult(answer=Liveness.UNKNOWN, because=because)


def waiting_phase(flavor: str, waited_s: float, message: str) -> str:
    """Return the phase of a job that waits for its hardware. One that waits for long names flavors that fit as well.

    >>> waiting_phase("t4-small", 60.0, "")
    'queued for hardware'
    >>> waiting_phase("t4-small", 3600.0, "")
    'queued for hardware for more than 15 minutes; with as much GPU memory there are t4-medium, l4x1, a10g-small, a10g-large'
    """
    phase = QUEUED
    if waited_s > LONG_S:
        phase += f" for more than {LONG_S / 60:.0f} minutes"
        fitting = fitting_flavors(flavor)
        phase += f"; with as much GPU memory there are {', '.join(fitting)}" if fitting else ""
    return f"{phase}: {message}" if message else phase


def fitting_flavors(flavor: str) -> list[str]:
    """Return the cheapest flavors with as many GPUs, each of which has as much memory."""
    known = load_flavors()
    chosen = known.get(flavor)
    if chosen is None:
        return []
    fitting = [each for each in known.values() if each.name != flavor and _serves_as(each, chosen)]
    return [each.name for each in sorted(fitting, key=lambda each: each.usd_per_hour)[:SHOWN]]


def parse_usage(measured: Mapping[str, Any]) -> MachineUsage:
    """Return the memory in use from an event of `fetch_job_metrics`.

    >>> gpus = {"d9": {"memory_used_bytes": 5, "memory_total_bytes": 9}, "c1": {"memory_used_bytes": 7, "memory_total_bytes": 9}}
    >>> usage = parse_usage({"memory_used_bytes": 2, "memory_total_bytes": 8, "gpus": gpus})
    >>> usage.memory_bytes, usage.gpu_bytes, parse_usage({}).memory_total_bytes
    (2, 7, 0)
    """
    gpus = [
        (_bytes(each, "memory_used_bytes"), _bytes(each, "memory_total_bytes"))
        for each in (measured.get("gpus") or {}).values()
    ]
    gpu_bytes, gpu_total_bytes = max(gpus, default=(0, 0))
    return MachineUsage(
        memory_bytes=_bytes(measured, "memory_used_bytes"),
        memory_total_bytes=_bytes(measured, "memory_total_bytes"),
        gpu_bytes=gpu_bytes,
        gpu_total_bytes=gpu_total_bytes,
    )


def _serves_as(each: Flavor, chosen: Flavor) -> bool:
    """True if a flavor has as many GPUs as another, each with as much memory; of those without GPUs, as much memory."""
    if len(each.gpus) != len(chosen.gpus) or _gpu_memory(each) < _gpu_memory(chosen):
        return False
    return bool(chosen.gpus) or (each.memory_gb or 0) >= (chosen.memory_gb or 0)


def _gpu_memory(flavor: Flavor) -> int:
    """Return the bytes of the smallest GPU of a flavor; 0 if it has none."""
    return min((gpu.memory_bytes for gpu in flavor.gpus), default=0)


def _failure(message: str) -> PollResult:
    if message == "Job timeout":
        return PollResult(answer=Liveness.ENDED, because=TIMEOUT)
    found = EXIT.search(message)
    because = "" if PLAIN_EXIT.fullmatch(message) else message or "the job failed, and the Hub does not say why"
    return PollResult(answer=Liveness.ENDED, exit_code=int(found[1]) if found else None, because=because)


def _bytes(measured: Mapping[str, Any], name: str) -> int:
    value = measured.get(name)
    return int(value) if is_number(value) else 0
