"""The ladder of remedies for memory that ran out: each step costs more than the one before, and is taken once the ones before are used up."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from holdfast.catalog.hub.flavors import load_flavors, planned_prices
from holdfast.core.plan.allocator import ALLOCATOR, EXPANDABLE, FIXED
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.remedy import AppliedRemedy, SettingChange
from holdfast.engine.recover.batches import other_gradients, smaller_batches, smaller_evaluation
from holdfast.engine.recover.failed_job import FailedJob

LEAST_OPTIMIZER: Final = "paged_adamw_8bit"
"""The optimizer with the least memory of those that do as AdamW does: states of 8 bits, in pages that may leave the GPU."""
ADAMW: Final = ("adamw_torch", "adamw_torch_fused", "adamw_bnb_8bit", "paged_adamw_32bit")
"""The optimizers that it may take the place of."""
LEAST_VLLM_SHARE: Final = 0.1


def training_ladder(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield what helps if a step of training did not fit."""
    first, second = (_checkpointing, smaller_batches) if other_gradients(job) else (smaller_batches, _checkpointing)
    yield from first(job)
    yield from second(job)
    yield from _optimizer(job)
    yield from _hardware(job)


def evaluation_ladder(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield what helps if an evaluation did not fit."""
    yield from smaller_evaluation(job)
    yield from _hardware(job)


def main_memory_ladder(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield what helps if the main memory ran out: fewer processes that hold data; where training is on the CPU, what helps it."""
    for name in ("dataloader_num_workers", "dataset_num_proc"):
        if job.count(name) > (1 if name == "dataset_num_proc" else 0):
            after = None if name == "dataset_num_proc" else 0
            change = SettingChange(key=f"train.{name}", before=job.setting(name), after=after)
            yield AppliedRemedy(because="each process that prepares rows holds memory of its own", changes=(change,))
    if not job.has_gpu and job.started.hardware:
        yield from training_ladder(job)
    else:
        yield from _hardware(job)


def fragmentation_ladder(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield what helps if the memory was there, but in pieces. Most attempts start with segments that grow, and this helps the others."""
    before = job.job.environment.variables.get(ALLOCATOR)
    is_off = FIXED in before if before is not None else EXPANDABLE not in job.started.allocator
    if is_off and not job.setting("use_vllm"):
        because = "the allocator's segments can grow, so that less of the memory is lost between them"
        after = EXPANDABLE if before is None else before.replace(FIXED, EXPANDABLE)
        change = SettingChange(key=f"environment.variables.{ALLOCATOR}", before=before, after=after)
        yield AppliedRemedy(because=because, changes=(change,))
    yield from training_ladder(job)


def vllm_ladder(job: FailedJob) -> Iterator[AppliedRemedy]:
    """Yield what helps if training and vLLM do not fit on a GPU together."""
    share = job.setting("vllm_gpu_memory_utilization")
    if job.setting("use_vllm") and job.setting("vllm_enable_sleep_mode") is False:
        because = "vLLM leaves its memory to the training while that computes"
        yield AppliedRemedy(because=because, changes=(job.change("vllm_enable_sleep_mode", after=True),))
    if isinstance(share, float) and share / 2 >= LEAST_VLLM_SHARE:
        because = "vLLM takes a smaller share of the GPU, and generates fewer completions at a time"
        yield AppliedRemedy(because=because, changes=(job.change("vllm_gpu_memory_utilization", share / 2),))
    yield from training_ladder(job)


LADDERS: Final[Mapping[str, Callable[[FailedJob], Iterator[AppliedRemedy]]]] = {
    "cuda-oom-train-step": training_ladder,
    "cuda-oom-long-sample": training_ladder,
    "cublas-masking-oom": training_ladder,
    "cuda-oom-fragmentation": fragmentation_ladder,
    "cuda-oom-eval": evaluation_ladder,
    "cpu-ram-oom-kill": main_memory_ladder,
    "grpo-colocate-oom": vllm_ladder,
}
"""The ladder for each class of failure. One at a save has none: no batch is in memory then."""


def _checkpointing(job: FailedJob) -> Iterator[AppliedRemedy]:
    settings = ("gradient_checkpointing", "activation_checkpointing")
    if any(job.setting(name) for name in settings) or job.job.where.strategy == "fsdp":
        return
    changes = [job.change(name, after=True) for name in settings if name == settings[0] or name in job.job.train]
    yield AppliedRemedy(
        permission="checkpointing",
        because="activations are computed again instead of kept: the same gradients, about a third slower",
        changes=tuple(changes),
    )


def _optimizer(job: FailedJob) -> Iterator[AppliedRemedy]:
    # On this machine an environment with bitsandbytes may have to be made anew, which takes gigabytes.
    is_here = capabilities_of(job.job.where.backend).is_here
    if job.setting("optim") not in ADAMW or not job.has_gpu or is_here or "deepspeed" in job.job.train:
        return
    yield AppliedRemedy(
        permission="optimizer",
        because="the optimizer's states have 8 bits instead of 32, and may leave the GPU",
        changes=(job.change("optim", LEAST_OPTIMIZER),),
        resumes_until=0,
        keeps=("effective_batch", "data_order", "learning_rate"),
        differs=(
            "the optimizer's states are rounded to 8 bits; those of a checkpoint do not fit, so training starts over",
        ),
    )


def _hardware(job: FailedJob) -> Iterator[AppliedRemedy]:
    where, flavors = job.job.where, load_flavors()
    named, prices = flavors.get(where.hardware or ""), planned_prices(job.usd_per_hour)
    if not capabilities_of(where.backend).has_flavors or named is None or not named.gpus or named.name not in prices:
        return
    larger = [
        each
        for each in flavors.values()
        if each.name in prices
        and len(each.gpus) == len(named.gpus)
        and each.gpus[0].memory_bytes > named.gpus[0].memory_bytes
        and prices[each.name] >= prices[named.name]
        and (each.gpus[0].bf16 or not named.gpus[0].bf16)
    ]
    if not larger:
        return
    cheapest = min(larger, key=lambda each: prices[each.name])
    price = f"{prices[named.name]:g} to {prices[cheapest.name]:g} USD an hour"
    yield AppliedRemedy(
        permission="hardware",
        because=f"a GPU with more memory: {price}",
        changes=(SettingChange(key="where.hardware", before=named.name, after=cheapest.name),),
        differs=("another GPU rounds differently",),
    )
