"""What is wrong with a loop that ended: losses that are no numbers, updates that are none, a schedule that stands still."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..events import EventWriter
from ..libraries import torch
from ..trainers import green, rates
from .losses import LossRecord
from .schedules import ScheduleWatch
from .updates import OptimizerWatch

ENOUGH = 3
"""Steps after which a learning rate that was 0 in all of them is no warm-up."""
LEAST = 2
"""Calls after which what was never followed by anything was not only tried."""
RUNAWAY = 1000.0
"""Times by which no training makes weights larger: with Adam at 1e-3 they would take 20,000 steps for it."""
UNCHANGED = "weights-not-updated"
FLAT = "lr-too-low-flat"
ORDER = "training-loop-order"
MASKED = "completion-mask-drops-everything"
LAST = "Make the optimizer last, after `from_pretrained`, `get_peft_model` and whatever else replaces weights."
STEPS = re.compile(r"(\w+)\s*\.step\(")
"""What a script has step, by its name."""
OPTIMIZER = re.compile(r"opt|scaler|adam|sgd", re.IGNORECASE)
SCHEDULE = re.compile(r"sched|lr|prof|bar|env", re.IGNORECASE)


def judge(
    losses: LossRecord, updates: OptimizerWatch, schedules: ScheduleWatch, source: str, events: EventWriter
) -> None:
    """Report the errors of a loop, and the doubtful points.

    Args:
        losses: What it computed.
        updates: What its optimizers did.
        schedules: What its schedules did.
        source: The script's text.
        events: Receives the report.
    """
    if not _judge_labels(losses, events):
        _judge_numbers(losses, updates, events)
    _judge_updates(losses, updates, source, events)
    if _is_rate_zero(updates):
        _judge_rates(updates, schedules, events)
    if any(events.has_reported(name) for name in (UNCHANGED, FLAT)):
        return
    doubts = list(_doubts(losses, updates, schedules, source))
    if doubts:
        events.warning(ORDER, "step", "; ".join(doubts))


def _judge_labels(losses: LossRecord, events: EventWriter) -> bool:
    """Report labels that are masked; return whether all of them are."""
    if losses.labels and losses.masked == losses.labels:
        because = "no token of any batch is trained on: all labels that the model is given are -100"
        events.fault(MASKED, "tokenize", because, fix=green.KEEP_LABELS)
        return True
    if losses.masked_rows:
        because = f"{losses.masked_rows} of {losses.rows} rows in the batches have no token that is trained on: all their labels are masked"
        events.warning(MASKED, "tokenize", because)
    return False


def _judge_numbers(losses: LossRecord, updates: OptimizerWatch, events: EventWriter) -> None:
    """Report learning rates that are too high, and losses or weights that are not finite."""
    optimizers = [each for each, _ in updates.seen.values()]
    if any(rates.judge_optimizer(each, events) for each in optimizers):
        return
    rate = max(map(rates.rate_of, optimizers), default=0.0)
    if (growth := updates.growth) > RUNAWAY:
        because = f"the weights become {growth:.0g} times as large within {updates.steps} steps, with a learning rate of {rate:g}"
        events.fault(rates.NAME, "step", because, fix=rates.USUAL)
    elif not all(map(_is_finite, updates.held)):
        first = f"the loss of batch {losses.lost[0]} is not a number" if losses.lost else "the losses are numbers"
        because = f"weights are not finite after {updates.steps} steps; {first}"
        events.fault("nan-loss-silent-success", "step", because, fix=green.NUMBERS)
    else:
        _judge_losses(losses, rate, events)


def _is_finite(weight: Any) -> bool:
    return not torch.is_floating_point(weight) or bool(torch.isfinite(weight).all())


def _judge_losses(losses: LossRecord, rate: float, events: EventWriter) -> None:
    """Report losses of which none is a number, or that grow; `rate` is the highest learning rate."""
    if losses.lost and len(losses.lost) == losses.count:
        because = f"the loss is not a number in any of {losses.count} batches"
        events.fault("nan-loss-silent-success", "step", because, fix=green.NUMBERS)
    elif losses.own and losses.values and max(losses.values) > rates.WORSE * losses.values[0] > 0:
        rates.judge_losses(losses.own, rate, events)


def _judge_updates(losses: LossRecord, updates: OptimizerWatch, source: str, events: EventWriter) -> None:
    """Report a loop that changes no weight."""
    if not updates.seen and losses.count >= LEAST:
        if any(not SCHEDULE.search(name) for name in STEPS.findall(source)):
            events.not_rehearsed(
                "a step of the optimizer", "with few rows the loop does not come to one; the job shows it"
            )
        else:
            because = f"`backward` was called {losses.count} times, and no optimizer made a step"
            events.fault(UNCHANGED, "step", because, fix="Call `optimizer.step()` after `backward`.")
    elif updates.steps >= LEAST and not any(each.reached for _, each in updates.seen.values()):
        because, fix = _missing_gradients(losses, updates)
        events.fault(UNCHANGED, "step", because, fix=fix)


def _missing_gradients(losses: LossRecord, updates: OptimizerWatch) -> tuple[str, str]:
    """Return why an optimizer never had a gradient, and what to do."""
    none = f"the optimizer has no gradient in any of its {updates.steps} steps"
    if any(each.cleared for _, each in updates.seen.values()):
        because = f"the gradients are cleared after `backward` and before `step`: {none}"
        return because, "Call `zero_grad()` after `step()`, or before `backward`."
    if not losses.count:
        because = f"`backward` is never called: {none}"
        fix = "Call `loss.backward()` before `optimizer.step()`; with accelerate, `accelerator.backward(loss)`."
        return because, fix
    return _lost_gradients(losses, updates, none)


def _lost_gradients(losses: LossRecord, updates: OptimizerWatch, none: str) -> tuple[str, str]:
    """Return where gradients are lost between the loss and the optimizer, and what to do; `none` says that there are none."""
    weights = [each for each in losses.leaves if each.numel() > 1]
    if not weights:
        because = f"the loss depends on no weight, so {none}: it was cut off from the model, by `detach`, `item` or a new tensor"
        return because, "Call `backward` on the loss that the model returns."
    held = {id(each): each for each in updates.held}
    if held.keys().isdisjoint(map(id, weights)):
        return _other_weights(len(weights), list(held.values())), LAST
    because = f"{none}, though the loss depends on what it holds: something takes the gradients away after `backward`"
    return because, "Keep `grad` of the weights until `optimizer.step()` has used it."


def _other_weights(trained: int, held: Sequence[Any]) -> str:
    """Return that an optimizer holds other weights than the loss trains."""
    none = f"the optimizer holds none of the {trained} tensors that the loss trains"
    if any(each.requires_grad for each in held):
        return f"{none}: it was made for another model, and its {len(held)} tensors belong to that"
    return f"{none}, and the {len(held)} that it holds are frozen: it was made before the model got its adapter"


def _is_rate_zero(updates: OptimizerWatch) -> bool:
    """True if the learning rate is 0 in each of several steps, and gradients are there."""
    seen = [each for _, each in updates.seen.values()]
    return bool(seen) and updates.steps >= ENOUGH and all(each.reached and not each.moves for each in seen)


def _judge_rates(updates: OptimizerWatch, schedules: ScheduleWatch, events: EventWriter) -> None:
    """Report why the learning rate is 0 in each step."""
    because = f"the learning rate is 0 in each of {updates.steps} steps"
    if not max(each.asked for _, each in updates.seen.values()):
        events.fault(FLAT, "step", f"{because}, and was so from the beginning", fix=green.USUAL_RATE)
    elif schedules.made and not schedules.moves:
        fix = "Call `scheduler.step()` after each `optimizer.step()`."
        events.fault(FLAT, "step", f"{because}: the schedule begins at 0 and never moves", fix=fix)
    elif events.has_shrunk("rows"):
        events.not_rehearsed("the schedule of the learning rate", "with few rows it is over at once; the job shows it")
    else:
        fix = "Give the schedule the number of steps that the loop takes."
        events.fault(FLAT, "step", f"the schedule is over before it begins: {because}", fix=fix)


def _doubts(losses: LossRecord, updates: OptimizerWatch, schedules: ScheduleWatch, source: str) -> Iterator[str]:
    """Yield the doubtful points in the order of a loop's calls, with their fixes."""
    if updates.kept >= LEAST:
        yield "gradients are not cleared between steps, so each step adds up those of all before: call `optimizer.zero_grad()` after each step"
    yield from _doubts_about_accumulation(losses, updates)
    if updates.idle_clips >= LEAST and updates.idle_clips >= updates.clips - 1:
        yield "gradients are clipped before `backward` or after `step`, where nothing is to be clipped: clip them between the two"
    yield from _doubts_about_schedules(updates, schedules, source)


def _doubts_about_accumulation(losses: LossRecord, updates: OptimizerWatch) -> Iterator[str]:
    if losses.whole:
        yield (
            f"`loss.backward()` within `accumulate` adds up {losses.accumulated} batches without dividing by their number: "
            "call `accelerator.backward(loss)`"
        )
    if losses.twice:
        yield (
            f"the loss is divided by {losses.twice} before `accelerator.backward`, which divides it by {losses.twice} again: "
            "give it the loss as it is"
        )
    if updates.hasty:
        yield (
            "the optimizer steps after each batch within `accumulate`, so no gradients are added up: "
            "give it to `accelerator.prepare`, and use what that returns"
        )


def _doubts_about_schedules(updates: OptimizerWatch, schedules: ScheduleWatch, source: str) -> Iterator[str]:
    moved = any(not OPTIMIZER.search(name) for name in STEPS.findall(source))
    if schedules.made and not schedules.moves and not moved and updates.steps >= LEAST:
        yield "a schedule of the learning rate is made and never moves: call `scheduler.step()` after each `optimizer.step()`"
    if schedules.early and "GradScaler" not in source:
        yield "the schedule moves before the first `optimizer.step()`, so its first rate is skipped: call `scheduler.step()` after it"
