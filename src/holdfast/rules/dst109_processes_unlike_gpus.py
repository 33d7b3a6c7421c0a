"""Number of processes that differs from the number of GPUs.

## What it does
On Hugging Face Jobs, checks the number of processes that a launcher starts on each machine
(`torchrun --nproc-per-node`, `accelerate launch --num_processes`, `where.processes`) against the GPUs of the flavor.

## Why is this bad
Each process takes the GPU of its own number. One process too many ends all of them: "CUDA error: invalid device
ordinal". With fewer processes, some of the GPUs are paid for and stay idle.

## Fix safety
There is no automatic fix: the number of processes changes how many rows a step uses, and with that the training.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.flavors import Flavor
from holdfast.catalog.hub.named_flavor import flavor_named
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.run.backends import backend_of
from holdfast.core.text.numbers import is_count

SHARING = ("vllm", "sglang")


def check(job: Document) -> Iterator[Finding]:
    """Report processes without a GPU, and GPUs without a process."""
    if not backend_of(job).has_flavors:
        return
    flavor = flavor_named(job.get("where.hardware", None))
    key, processes = _processes(job)
    if flavor is not None and flavor.gpus and processes is not None:
        yield from _unlike(job, key, processes, flavor)


def _unlike(job: Document, key: str, processes: int, flavor: Flavor) -> Iterator[Finding]:
    count = len(flavor.gpus)
    if processes > count:
        gpus = "GPU" if count == 1 else "GPUs"
        yield Finding(key, f"{processes} processes on the {count} {gpus} of {flavor.name}: each needs its own")
    elif processes < count and not _shares(job):
        fault = f"only {processes} of the {count} GPUs of {flavor.name} will be used"
        yield Finding(key, fault, severity=Severity.WARNING)


def _shares(job: Document) -> bool:
    """True if a server may have the other GPUs."""
    return any(word in job.text.lower() for word in SHARING)


def _processes(job: Document) -> tuple[str, int | None]:
    """Return the setting for the number of processes per machine, and the number; None where there is none."""
    nodes = job.get("where.nodes", 1)
    for key in ("where.processes", "where.world_size"):
        number = job.get(key, None)
        if is_count(number):
            if key == "where.world_size" and nodes != 1:
                return key, None
            return key, number
    return "where.processes", None


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
where: {backend: hf-jobs, hardware: a10g-largex2, timeout: 2h, processes: 2}
"""

RULE = Rule(
    code="DST109",
    name="processes-unlike-gpus",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "accelerate 1.15, `PartialState`, and transformers 5.23, `TrainingArguments._setup_devices`: a process sets"
        " the device of its local rank; read, not run, since there is no GPU here."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(job=JOB.replace("processes: 2", "processes: 4"), at="where.processes"),
        Case(job=JOB.replace("a10g-largex2", "l4x4"), at="where.processes"),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB.replace("processes: 2", "processes: auto")),
        Case(job=JOB.replace("a10g-largex2", "cpu-upgrade")),
        Case(job=JOB.replace("hf-jobs", "slurm")),
    ),
)
