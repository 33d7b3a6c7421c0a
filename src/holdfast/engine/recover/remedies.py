"""What helps against each class of failure, the first thing first.

Nothing here changes the method, the data or `max_length`; what changes the training beyond rounding says so.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from holdfast.catalog.environment.packages import REQUIREMENTS
from holdfast.catalog.environment.stack import load_stack
from holdfast.core.diagnose.diagnosis import Remedy
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.remedy import AppliedRemedy, Permission, SettingChange
from holdfast.engine.recover.failed_job import FailedJob
from holdfast.engine.recover.memory import LADDERS
from holdfast.engine.recover.spoilt_steps import without_lost_steps, without_spike
from holdfast.engine.script.requirements import list_requirements

SUGGESTED: Final[Mapping[str, Permission | None]] = {
    "train.dataloader_num_workers": None,
    "train.dataset_num_proc": None,
    "train.ddp_timeout": None,
    "train.ddp_find_unused_parameters": None,
    "train.gradient_checkpointing_kwargs": "checkpointing",
    REQUIREMENTS: None,
}
"""Settings that a class of failure may have changed as its signature says, with the permission that this needs."""
SPIKE: Final = "loss-spike"
FLASH: Final = "flash_attention"
SAFE_ATTENTION: Final = "sdpa"
INTERFACES: Final = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
LOOPBACK: Final = "lo"


def remedies_for(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield what may help a job, the first thing first, permitted or not; what is so already is left out."""
    if job.attempt.lost and job.attempt.lost.is_proven:
        yield from without_lost_steps(job, job.attempt.lost)
        return
    if job.cause.name == SPIKE and job.attempt.loss_range.spike:
        yield from without_spike(job, job.attempt.loss_range.spike)
        return
    if ladder := LADDERS.get(job.cause.name):
        yield from ladder(job)
        return
    if own := OWN.get(job.cause.name):
        yield from own(job)
    yield from _suggested_remedy(job)


def _suggested_remedy(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield the remedy that the signature names, if all of its changes may be made by themselves."""
    changes = tuple(change for each in job.cause.suggested if (change := _suggested(job, each)))
    if changes and len(changes) == len(job.cause.suggested):
        permission = next((permission for each in changes if (permission := SUGGESTED[each.key])), None)
        yield AppliedRemedy(permission=permission, because=job.cause.fix or job.cause.title, changes=changes)


def _suggested(job: FailedJob, suggested: Remedy) -> SettingChange | None:
    """Return the change of a suggested setting; None if it may not be changed by itself, or is so already."""
    if suggested.key not in SUGGESTED or suggested.action not in ("set", "add", "remove"):
        return None
    if suggested.key == REQUIREMENTS:
        return _added_requirement(job, str(suggested.value))
    before = job.setting(suggested.key.removeprefix("train."))
    after = suggested.value if suggested.action == "set" else None
    return None if before == after else SettingChange(key=suggested.key, before=before, after=after)


def _added_requirement(job: FailedJob, package: str) -> SettingChange | None:
    """The change that has a package installed; None if it was to be, or if attempts run on this machine."""
    # Here, an environment that lacks a declared package is made anew, with a torch of its own: gigabytes.
    own, is_here = job.job.environment.requirements, capabilities_of(job.job.where.backend).is_here
    if is_here or any(each.name == package for each in list_requirements(job.job)):
        return None
    tried = load_stack().get(package)
    added = f"{package}=={tried.version}" if tried else package
    return SettingChange(key=REQUIREMENTS, before=own, after=[*own, added])


def _other_attention(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield an attention that every GPU has, unless rows are packed, which flash attention alone keeps apart."""
    named = job.job.model.attn_implementation or ""
    packs = job.setting("packing") or job.setting("padding_free")
    if FLASH in named and not packs and "attn_implementation" not in (job.job.train.get("model_init_kwargs") or {}):
        yield AppliedRemedy(
            because="flash attention is not there, and PyTorch's own computes the same",
            changes=(SettingChange(key="model.attn_implementation", before=named, after=SAFE_ATTENTION),),
            differs=("attention is rounded differently",),
        )


def _other_port(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield another port, where the job names one; where it does not, the next attempt draws one."""
    variable = job.job.environment.variables.get("MASTER_PORT", "")
    if variable.isdigit():
        key = "environment.variables.MASTER_PORT"
        change = SettingChange(key=key, before=variable, after=str(_next_port(int(variable))))
        yield AppliedRemedy(because=f"port {variable} is in use", changes=(change,))
    elif job.setting("use_vllm") and job.setting("vllm_mode") == "server" and (port := job.count("vllm_group_port")):
        change = job.change("vllm_group_port", _next_port(port))
        yield AppliedRemedy(because=f"port {port} may be in use", changes=(change,))
    else:
        yield AppliedRemedy(because="the next attempt draws another port")


def _loopback(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield the loopback interface for the processes of one machine, which reach one another over it whatever its network is like.

    Source: torch 2.13 with gloo, tried (`tests/app/run/test_failed_ranks.py`). NCCL's own variable is set as its documentation says.
    """
    own, where = job.job.environment.variables, job.job.where
    if capabilities_of(where.backend).is_here and sys.platform != "linux":  # whose name for it was not tried
        return
    changes = [
        SettingChange(key=f"environment.variables.{name}", before=own.get(name), after=LOOPBACK)
        for name in INTERFACES
        if own.get(name) != LOOPBACK
    ]
    if changes and where.nodes == 1:
        because = "all processes are on one machine, whose loopback interface needs no network"
        yield AppliedRemedy(because=because, changes=tuple(changes))


def _next_port(port: int) -> int:
    """Return another port, far enough from this one that neighbours of the same job do not have it.

    >>> _next_port(29500), _next_port(65535)
    (29537, 29537)
    """
    return port + 37 if port + 37 < 65536 else 29537  # noqa: PLR2004 - the number of ports


OWN: Final[Mapping[str, Callable[[FailedJob], Iterator[AppliedRemedy]]]] = {
    "flash-attn-abi-mismatch": _other_attention,
    "flash-attn-unsupported-gpu": _other_attention,
    "port-in-use": _other_port,
    "nccl-network-interface": _loopback,
}
"""Remedies that depend on the job's own settings, by class."""
