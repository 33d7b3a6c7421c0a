"""What to change in a job that fits no hardware."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from holdfast.core.document import Document
from holdfast.core.hardware import Hardware
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.options import fits_hardware
from holdfast.engine.plan.spelling import spell_key
from holdfast.engine.plan.states import gradients_term, optimizer_term, weights_term
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.units import render_bytes


def advise_smaller(job: Document, step: TrainingStep, hardware: Iterable[Hardware], *, expandable: bool) -> str:
    """Return what to change in a job for which nothing fits; shorter rows only if it fits with the shortest.

    Args:
        job: The job.
        step: Its training step.
        hardware: Where it may run.
        expandable: Whether the allocator has expandable segments.
    """
    shortest = _shortest(step)
    can_shorten = any(
        fits_hardware(estimate_memory(shortest, expandable=expandable, gpu=each.gpus[0]), each)
        for each in hardware
        if each.gpus
    )
    states = sum(term.bytes for term in (weights_term(step), gradients_term(step), optimizer_term(step)))
    vain = f"No length is short enough: weights, gradients and optimizer states alone are {render_bytes(states)}. "
    changes = [*([f"shorten {spell_key(job, 'train.max_length')}"] if can_shorten else []), *_other_changes(job, step)]
    *first, last = changes
    listed = f"{', '.join(first)}{',' if len(first) > 1 else ''} or {last}" if first else last
    return f"{'' if can_shorten else vain}{listed[0].upper()}{listed[1:]}."


def _other_changes(job: Document, step: TrainingStep) -> Iterator[str]:
    if step.adapter is None:
        adapter = {"command": "--use_peft", "script": "peft_config=LoraConfig(…)"}.get(job.kind, "peft")
        yield f"train an adapter ({adapter})"
    sharing = "where.strategy: fsdp" if job.kind == "job" else "--strategy fsdp plans it"
    yield f"share the model among GPUs ({sharing})"


def _shortest(step: TrainingStep) -> TrainingStep:
    """Return the step with one row of one token, and with checkpoints."""
    rollout = replace(step.rollout, rows=step.rollout.generations, prompt=1, completion=1) if step.rollout else None
    return replace(step, length=1, batch=1, eval_batch=min(1, step.eval_batch), checkpointing=True, rollout=rollout)
