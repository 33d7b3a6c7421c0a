"""What a plan takes for granted beside the step: lengths of rows, counts of a rehearsal, images, evaluations, the allocator."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from holdfast.catalog.hub.gpus import find_ceilings
from holdfast.catalog.models.vision import is_vision
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.plan.duration import padded_length
from holdfast.engine.plan.job_time import Workload
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.reference import REFERENCED
from holdfast.engine.plan.spelling import spell_key
from holdfast.engine.plan.step import FLOAT32, Rollout, TrainingStep
from holdfast.engine.units import render_counted

IMAGES: Final = "images are not counted: neither their tokens nor the activations of the vision tower; its weights are"

TOWER_ADAPTERS: Final = "adapters outside the language model are not counted: peft may put some into the vision tower, whose layers are not known"
ADAPTERS_WAIT: Final = (
    "for an adapter, GPUs waited longer for one another than the best value says: 4 to 5 times in the middle of published runs, "
    "and up to 9 times"
)
"""Source: docs/estimates.md, LoRA and QLoRA on two and four A100."""
FLOAT32_SHARDS: Final = "FSDP with mixed precision keeps trained weights, gradients and optimizer states in float32, 4 bytes each, whatever dtype the model has"
"""Source: accelerate 1.15, `fsdp2_prepare_model` and `Accelerator.prepare_model`, which upcast trained parameters."""
GEMMA: Final = "gemma3"


def list_assumptions(question: PlanQuestion, step: TrainingStep, workload: Workload | None) -> Iterator[str]:
    """Return what a plan takes for granted, in words.

    Args:
        question: What is known of the job.
        step: Its training step.
        workload: How much there is to train; None if unknown.
    """
    return chain(
        _rehearsal_notes(question, workload),
        _length_notes(question, step),
        _image_notes(question.model.config, step),
        _dtype_notes(question),
        _speed_notes(question),
        [FLOAT32_SHARDS] if step.sharding.float32_shards and step.numerics.weights < FLOAT32 else [],
        _evaluation_notes(step, workload),
        _communication_notes(question, step),
        [question.allocator.because],
    )


def _image_notes(config: Mapping[str, Any], step: TrainingStep) -> Iterator[str]:
    """Yield what is not counted of a model that sees images. Of Gemma 3, the layers of the tower are known."""
    if is_vision(config):
        yield IMAGES
    if is_vision(config) and step.adapter and not (step.model.vision and config.get("model_type") == GEMMA):
        yield TOWER_ADAPTERS


def _dtype_notes(question: PlanQuestion) -> Iterator[str]:
    """Yield what is to be known of a GPU that does not compute in bfloat16."""
    placed = question.placed
    if question.in_bfloat16 and placed and placed.gpus and not placed.gpus[0].bf16:
        half = spell_key(question.job, "train.fp16")
        yield f"{placed.gpus[0].name} emulates bfloat16, slowly; {half} is what it is fast in"


def _speed_notes(question: PlanQuestion) -> Iterator[str]:
    """Yield that the speed of the GPU is a guess."""
    gpu = next(iter(question.placed.gpus), None) if question.placed else None
    ceilings = find_ceilings(gpu) if gpu else None
    if gpu and ceilings and ceilings.guessed:
        yield f"how fast {gpu.name} trains is a guess, from GPUs of its generation: no run on one was found"


def _evaluation_notes(step: TrainingStep, workload: Workload | None) -> Iterator[str]:
    """Yield what is not in the time, if it is done on rows whose number is not known."""
    if step.eval_batch and workload and workload.schedule.evaluations and not workload.eval_rows:
        yield "the time has no evaluations in it: the number of their rows is not known"
    if workload and step.method in REFERENCED and not step.scores_reference and not workload.scored_rows:
        yield "the time has no scoring by the reference in it: the number of rows is not known"


def _communication_notes(question: PlanQuestion, step: TrainingStep) -> Iterator[str]:
    """Yield that the time has no communication, if it is not known how fast the GPUs are connected; else what is assumed of it."""
    placed = question.placed
    if step.sharding.processes == 1 or not placed or not placed.gpus:
        return
    ceilings = find_ceilings(placed.gpus[0])
    if ceilings and ceilings.link_bytes_per_s and step.sharding.processes <= len(placed.gpus):
        yield "what GPUs send one another is not taken to overlap with arithmetic; the lower end of the time has it overlap"
        if step.adapter:
            yield ADAPTERS_WAIT
    else:
        yield "the time has no communication between GPUs in it: how fast they are connected is not known"


def _rehearsal_notes(question: PlanQuestion, workload: Workload | None) -> Iterator[str]:
    """Yield what a rehearsal counted."""
    if question.rehearsed is None or workload is None:
        return
    schedule = workload.schedule
    counts = [
        render_counted(workload.steps, "step"),
        render_counted(schedule.evaluations, "evaluation"),
        render_counted(schedule.saves, "checkpoint"),
    ]
    yield f"the rehearsal of this job saw what its trainer gets: {', '.join(counts)}"


def _length_notes(question: PlanQuestion, step: TrainingStep) -> Iterator[str]:
    """Yield what the time takes rows for."""
    if step.rollout:
        return _prompt_notes(question, step.rollout)
    if question.lengths:
        return iter([_measured_note(step, question.lengths)])
    unpacked = ", and packed into fewer" if question.job.get("train.packing", None) is True else ""
    why = f": {question.unmeasured}" if question.unmeasured else ""
    return iter([f"the time takes each row to have {step.length} tokens; rows may be shorter{unpacked}{why}"])


def _prompt_notes(question: PlanQuestion, rollout: Rollout) -> Iterator[str]:
    if question.lengths is None and question.unmeasured:
        yield f"prompts were not measured: {question.unmeasured}"
    if rollout.here:
        yield f"the time takes each completion to have {rollout.completion} tokens, which are generated one by one; rewards take none"


def _measured_note(step: TrainingStep, lengths: RowLengths) -> str:
    measured = f"{lengths.rows:,} rows were tokenized: {lengths.mean:.0f} tokens on average"
    if lengths.packed is not None:
        return f"{measured}; {lengths.packed:.0%} of each of {lengths.units:,} packs is filled"
    return f"{measured}, {padded_length(step, lengths):.0f} after padding, in micro-batches of {step.rows}"
