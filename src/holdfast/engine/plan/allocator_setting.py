"""How a job sets torch's allocator, or how it is launched with it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from holdfast.core.job.document import Document
from holdfast.core.plan.allocator import ALLOCATOR, ALLOCATORS, EXPANDABLE
from holdfast.core.run.backends import BACKEND_KEY, LOCAL

WSL: Final = "WSL_DISTRO_NAME"
"""Is set on WSL, where the segments do not expand (pytorch/pytorch#192330)."""
LAUNCHED: Final = (
    f"`holdfast run` sets {ALLOCATOR}={EXPANDABLE} where nothing else sets the allocator and the GPU supports it"
)


@dataclass(frozen=True, slots=True)
class AllocatorSetting:
    """The setting of torch's allocator.

    Attributes:
        expandable: Whether its segments expand.
        because: Why, in words.
    """

    expandable: bool
    because: str


def allocator_setting(job: Document, variables: Collection[str]) -> AllocatorSetting:
    """Return the setting of the allocator in a job.

    `payload/runtime.py` has the allocator expand its segments unless the job or its environment sets it. A script may also be started
    without holdfast, so the estimate of one takes torch's default.

    Args:
        job: The job.
        variables: Names of the environment variables of this machine.
    """
    if (chosen := _chosen_by_job(job)) is not None:
        return chosen
    if job.kind != "job":
        return _default(LAUNCHED)
    if job.get("train.use_vllm", None) is True:
        return _default("segments that expand break vLLM's sleep mode before 0.20.1", joint=", as ")
    is_here = job.get(BACKEND_KEY, LOCAL.name) == LOCAL.name
    own = next((name for name in (*ALLOCATORS, WSL) if name in variables), "") if is_here else ""
    if own:
        return _default(f"{own} is set here", joint=": ")
    return AllocatorSetting(expandable=True, because=f"the allocator has expandable segments: {LAUNCHED}")


def _chosen_by_job(job: Document) -> AllocatorSetting | None:
    """Return what the job's own variables set; None if they set nothing."""
    for name in ALLOCATORS:
        if (given := job.get(f"environment.variables.{name}", None)) is not None:
            expandable = EXPANDABLE in str(given)
            segments = "expandable segments" if expandable else "fixed segments"
            return AllocatorSetting(expandable, f"the allocator has {segments}, as {name}={given} says")
    return None


def _default(because: str, joint: str = "; ") -> AllocatorSetting:
    return AllocatorSetting(expandable=False, because=f"the allocator is taken as torch's default{joint}{because}")
