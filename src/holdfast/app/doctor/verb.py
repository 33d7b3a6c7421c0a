"""`doctor`: what on this machine, and of the account, is ready to train."""

import os
import platform
import sys
from collections.abc import Iterator

from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.environment.toolchain import driver_version, unmet_requirements, uv_version, why_no_sandbox
from holdfast.adapters.hub.client import HubClient
from holdfast.adapters.hub.settings import why_offline
from holdfast.core.check.facts import Machine
from holdfast.core.check.hub import Account
from holdfast.core.errors import SourceError
from holdfast.results.doctor import (
    DoctorResult,
    GpuFacts,
    HubAccountFacts,
    LocalFacts,
    PlaceProblem,
    PlaceResult,
    ServiceFacts,
)

LIBRARIES = (
    *("torch", "transformers", "trl", "peft", "accelerate", "datasets", "tokenizers", "huggingface-hub", "trackio"),
    *("bitsandbytes", "deepspeed", "flash-attn", "kernels", "liger-kernel", "unsloth", "vllm", "wandb", "xformers"),
)
"""The libraries that jobs train with, in the order in which they are shown."""
LOGIN = "`hf auth login`, or another HF_TOKEN"


def doctor(*, offline: bool = False) -> DoctorResult:
    """Check this machine, its libraries and the Hub: what is ready to train, and what is missing.

    >>> import holdfast
    >>> holdfast.doctor(offline=True)["places"][0]["name"]
    'local'

    Args:
        offline: Don't contact the Hub.
    """
    places = [_local(LocalMachine().fetch()), _hub(offline=offline)]
    ready = all(place.ready for place in places)
    places.append(_hf_jobs(offline=offline))
    return DoctorResult(verb="doctor", verdict="ready" if ready else "not-ready", places=places)


def _local(machine: Machine) -> PlaceResult:
    packages = {name: machine.packages[name] for name in LIBRARIES if name in machine.packages}
    because = why_no_sandbox()
    facts = LocalFacts(
        python=platform.python_version(),
        environment=sys.prefix,
        cpus=machine.cpus,
        memory_bytes=machine.memory_bytes,
        free_disk_bytes=machine.free_disk_bytes,
        gpus=[
            GpuFacts(name=gpu.name, memory_bytes=gpu.memory_bytes, capability=".".join(map(str, gpu.capability)))
            for gpu in machine.gpus
        ],
        driver=driver_version(),
        uv=uv_version(),
        packages=packages,
        sandbox=because is None,
        no_sandbox=because,
    )
    problems = [*judge_local(facts), *_unmet(facts)]
    return PlaceResult(name="local", ready=not problems, facts=facts, problems=problems)


def judge_local(facts: LocalFacts) -> Iterator[PlaceProblem]:
    """Yield what keeps this machine from training."""
    if "trl" not in facts.packages and facts.uv is None:
        what = "nothing here can run a job: neither TRL is installed, nor uv, which would install it for a job"
        yield PlaceProblem(what=what, where=facts.environment, fix=f"`{install_command('train')}`, or `pip install uv`")
    torch = facts.packages.get("torch", "")
    if facts.gpus and torch.endswith("+cpu"):
        fix = f"`pip install --force-reinstall 'torch=={torch.partition('+')[0]}'`, or an environment of its own"
        yield PlaceProblem(
            what=f"torch {torch} cannot use the GPUs: it was built without CUDA", where=facts.environment, fix=fix
        )


def _unmet(facts: LocalFacts) -> Iterator[PlaceProblem]:
    """Yield libraries that do not go together."""
    for package, requirement in unmet_requirements(facts.packages):
        what = f"{package} {facts.packages[package]} needs {requirement}, which is not installed"
        yield PlaceProblem(what=what, where=facts.environment, fix=f"`pip install '{requirement}'`")


def _hub(*, offline: bool) -> PlaceResult:
    if because := _why_unasked(offline=offline):
        return _hub_place(None, because)
    try:
        hub = HubClient.of(os.environ, anew=True)
        hub.reach()
        return _hub_place(hub.account(), None)
    except SourceError as error:
        return _hub_place(None, None, PlaceProblem(what=error.what, where=str(error.where), fix=error.fix))


def _why_unasked(*, offline: bool) -> str | None:
    variable = why_offline(os.environ)
    return "--offline" if offline else f"{variable} is set" if variable else None


def _hf_jobs(*, offline: bool) -> PlaceResult:
    because = _why_unasked(offline=offline)
    problems = list[PlaceProblem]()
    if because is None:
        found = HfJobsBackend.obstacles(None, os.environ)
        problems = [PlaceProblem(what=each.what, where=str(each.where), fix=each.fix) for each in found]
    facts = ServiceFacts(asked=because is None, because=because)
    return PlaceResult(name="hf-jobs", ready=because is None and not problems, facts=facts, problems=problems)


def _hub_place(account: Account | None, because: str | None, *problems: PlaceProblem) -> PlaceResult:
    facts = _account_facts(account, because)
    refused = [PlaceProblem(what="the Hub refuses the token", where="HF_TOKEN, or the saved login", fix=LOGIN)]
    found = [*problems, *(refused if facts.token == "refused" else ())]  # noqa: S105 - a state
    return PlaceResult(name="hub", ready=not found, facts=facts, problems=found)


def _account_facts(account: Account | None, because: str | None) -> HubAccountFacts:
    asked = because is None
    if account is None:
        return HubAccountFacts(
            asked=asked, because=because, token=None, user=None, role=None, organizations={}, can_pay=None
        )
    return HubAccountFacts(
        asked=asked,
        because=because,
        token=account.token,
        user=account.name or None,
        role=account.role or None,
        organizations=dict(account.organizations),
        can_pay=account.pays,
    )
