"""Faults that no line tells of, only the numbers: a loss that is not one, a rate that is none, rewards that are all alike.

Each finding is bound to a class; what is only possible is not said. A healthy run is never taken for one of these: every
condition asks for all of the logged steps, or for numbers that no training gives.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from holdfast.core.diagnose.diagnosis import HEALTHY
from holdfast.core.diagnose.log import Log, Metrics
from holdfast.engine.diagnose.metric_history import FEW, ClassEvidence, MetricHistory, find_descent, read_metric_history

TINY_RATE: Final = 1e-9
"""A learning rate that changes no weight in bf16 or fp32 by anything that counts."""
FLAT: Final = 0.02
"""Share of the loss within which it stays where nothing is learnt."""
RISEN: Final = 1.5
"""Times the first loss that a diverging one ends at."""
RISEN_OF_FEW: Final = 1.9
"""The same of a mean of three losses: those of single batches differ by half, and a mean of three rises by as much by chance."""
EXPLODED: Final = 10
"""Times the first gradient's norm that one has with which training breaks down."""
LONG: Final = 10
"""Steps from which a loss of exactly 0 is no accident."""
PART: Final = 5
"""Part of the steps, the first and the last, of which the losses are compared."""
FAR: Final = 3
"""Times the first loss that each of the last ones is, of a loss that ran away, however few steps were logged."""
GUESSING: Final = 6.0
"""Nats a token with which a trained language model is back at guessing; a pair of answers that is merely confused costs 0.7."""
NO_VOCABULARY: Final = 14.0
"""Nats a token above any vocabulary's logarithm: that of 256,000 is 12.5."""
FAR_OFF: Final = 140.0
"""Loss that no training with a suspect rate begins at, also where old releases add up the losses of several batches."""
COLLAPSED: Final = 0.05
"""Share of the first entropy that is left where a model always says the same."""
SUSPECT_RATE: Final = 0.1
"""Learning rate that the loss is blamed on where it breaks down or rises; source: the rule CMB106."""
NOTHING_LEFT: Final = 1.0
"""Learning rate of an adaptive optimizer that leaves nothing of the weights; source: the rule CMB106."""
RESUMED: Final = 1.5
"""Steps' worth of epochs before the first step that is logged: the run was resumed."""
STOPPED: Final = 0.9
"""Share of the steps up to which a run has not come to its end."""
BACKWARDS: Final = 3
"""Times the epoch goes back where two jobs write into one log; once is a restart."""
TOKENS_A_ROW: Final = 4
"""Tokens a step that are no text."""
ENDLESS_BAR: Final = re.compile(r"^\d+it \[")

ENDS_WELL: Final = frozenset(
    {
        "completion-mask-drops-everything",
        "dataset-bad-row-values",
        "eos-never-learned",
        "fp16-overflow-nan",
        "grpo-reward-length-broadcast",
        "grpo-zero-advantage",
        "lr-too-high-divergence",
        "lr-too-low-flat",
        "model-not-pushed",
        "nan-loss-silent-success",
        "no-trainable-parameters",
        "preference-signal-degenerate",
        "too-few-training-steps",
    }
)
"""Classes of jobs that end: that they do says nothing against them."""


def find_silent(log: Log) -> list[ClassEvidence]:
    """Return the classes that the numbers of a log speak for, the surest first; a rate that no training survives explains all others."""
    course = read_metric_history(log)
    found = list(_suspect_rate(course)) or [finding for rule in RULES for finding in rule(course)]
    return sorted(found, key=lambda each: -each.weight)


def _not_finite(course: MetricHistory) -> Iterator[ClassEvidence]:
    """NaN losses: of every step, of the gradients alone, after some good steps, of evaluations alone."""
    bad = [step for step in course.steps if not math.isfinite(step.values["loss"])]
    zero = [step for step in course.steps if _is_zero_for_nan(step)]
    yield from _nan_losses(course, bad)
    yield from _zero_losses(course, zero)
    if not bad and not zero:
        yield from _nan_beside_losses(course)


def _nan_losses(course: MetricHistory, bad: Sequence[Metrics]) -> Iterator[ClassEvidence]:
    if bad and bad[0] is course.steps[0]:
        yield course.found("nan-loss-silent-success", 0.8, bad)
    elif bad:
        yield course.found("lr-too-high-divergence", 0.65, bad, when=_when(bad[0], course))
        yield course.found("nan-loss-silent-success", 0.5, bad)


def _zero_losses(course: MetricHistory, zero: Sequence[Metrics]) -> Iterator[ClassEvidence]:
    """Losses of 0 that stand for NaN; after good steps, a rate that is too high may be the cause as well."""
    if not zero:
        return
    if jumped := _jump_before(zero[0], course):
        yield course.found("lr-too-high-divergence", 0.66, (*jumped, *zero), when=_when(jumped[0], course))
        yield course.found("fp16-overflow-nan", 0.55, zero)
    elif zero[0] is course.steps[0]:
        yield course.found("fp16-overflow-nan", 0.66, zero)
    else:
        yield course.found("fp16-overflow-nan", 0.6, zero)
        yield course.found("lr-too-high-divergence", 0.52, zero, when=_when(zero[0], course))


def _nan_beside_losses(course: MetricHistory) -> Iterator[ClassEvidence]:
    """Gradients, or losses of evaluations, that are NaN while those of training are numbers."""
    if course.all_of(lambda step: math.isnan(step.values.get("grad_norm", 0))):
        yield course.found("fp16-overflow-nan", 0.62)
    evaluated = [step for step in course.evaluations if math.isnan(step.values.get("eval_loss", 0))]
    if evaluated:
        yield course.found("completion-mask-drops-everything", 0.75, evaluated)


def _jump_before(broken: Metrics, course: MetricHistory) -> list[Metrics]:
    """Return the steps before a broken one in which the loss stands well above the first, or the gradient far above it; from the first such on."""
    first, *others = course.steps[: course.steps.index(broken) or 1]

    def is_above(step: Metrics, name: str, times: float) -> bool:
        return step.values.get(name, 0) > times * first.values.get(name, math.inf)

    return [step for step in others if is_above(step, "loss", RISEN) or is_above(step, "grad_norm", EXPLODED)]


def _when(step: Metrics, course: MetricHistory) -> str:
    """Return when a step was logged. Its number among those that are logged is not the trainer's, and is called so."""
    return step.at or f"logged entry {course.steps.index(step) + 1}"


def _all_zero(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A loss of zero in every step: no labels, no text, or no advantage."""
    if not course.all_of(lambda step: step.values["loss"] == 0 and step.values.get("grad_norm", 0) == 0):
        return
    if any(name.startswith(("reward", "completions/")) for step in course.steps for name in step.values):
        return
    tokens = course.every("num_tokens")
    a_step = (tokens[-1] - tokens[0]) / max(1, len(tokens) - 1) if tokens else math.inf
    if a_step <= TOKENS_A_ROW:
        yield course.found("dataset-bad-row-values", 0.85, tokens=a_step)
    else:
        yield course.found("completion-mask-drops-everything", 0.8)


def _no_gradient(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A loss without a gradient in any step, that does not fall; of pairs that do not differ, and of rewards, others tell."""
    if not course.all_of(lambda step: step.values["loss"] > FLAT and step.values.get("grad_norm") == 0):
        return
    if any(name in step.values for step in course.steps for name in ("reward", "rewards/chosen", "margin")):
        return
    half = len(course.steps) // 2
    if _mean_loss(course.steps[-half:]) > (1 - FLAT) * _mean_loss(course.steps[:half]):
        yield course.found("no-trainable-parameters", 0.7)


def _rewards(course: MetricHistory) -> Iterator[ClassEvidence]:
    """Rewards that are all alike, and the loss of zero that GRPO rightly begins with."""
    rewarded = course.steps_with("reward_std")
    spread = [step for step in rewarded if step.values["reward_std"]]
    if spread:
        if all(abs(step.values["loss"]) < FLAT for step in rewarded):
            yield course.found(HEALTHY, 0.6, spread, rewarded=True)
    elif rewarded:
        yield from _same_rewards(course, rewarded)


def _same_rewards(course: MetricHistory, rewarded: Sequence[Metrics]) -> Iterator[ClassEvidence]:
    """Rewards without any spread; of few steps, only if nothing was learnt in them."""
    is_short = len(rewarded) < FEW
    if is_short and any(step.values["loss"] or step.values.get("grad_norm", 0) for step in rewarded):
        return
    reward = rewarded[-1].values.get("reward", 0.0)
    yield course.found("grpo-zero-advantage", 0.6 if is_short else 0.85, rewarded, reward=reward)


def _tiny_rate(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A learning rate of nothing; where no gradient is a number, no step is taken, and the schedule only waits."""
    if course.all_of(lambda step: not math.isfinite(step.values.get("grad_norm", 0))):
        return
    rates = course.every("learning_rate")
    if len(rates) > FEW and max(rates) <= TINY_RATE:
        yield course.found("lr-too-low-flat", 0.9, rate=max(rates), loss=course.every("loss")[-1])


def _preferences(course: MetricHistory) -> Iterator[ClassEvidence]:
    """Pairs without a difference, and KTO with answers of one kind."""
    if course.all_of(
        lambda step: (
            "logps/rejected" in step.values and step.values.get("logps/chosen") == step.values["logps/rejected"]
        )
    ):
        yield course.found("preference-signal-degenerate", 0.95)
    one = course.all_of(
        lambda step: "kl" in step.values and ("rewards/chosen" in step.values) != ("rewards/rejected" in step.values)
    )
    if one and not course.every("reward"):
        yield course.found("preference-signal-degenerate", 0.85)


def _too_few(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A run that ended after one step that was a whole epoch, or resumed behind its own end."""
    if not course.ends or len(course.steps) > 1:
        return
    epoch = course.ends[-1].values.get("epoch", 0)
    if course.progress[1] == 1 and epoch >= 1 and _steps_taken(course.ends[-1]) <= 1:
        yield course.found("too-few-training-steps", 0.8, course.ends, steps=1)
    elif _is_endless(course):
        yield course.found("too-few-training-steps", 0.75, course.ends, steps=len(course.steps))


def _is_endless(course: MetricHistory) -> bool:
    """True if a run took a step, and the bar at its end does not know how many steps there are."""
    if not course.steps or course.progress[0]:
        return False
    return any(ENDLESS_BAR.match(line.text) for line in course.log.tail)


def _steps_taken(end: Metrics) -> int:
    """Return the steps that a summary's own numbers amount to, 1 where it lacks them: a bar of one batch may be that of an evaluation."""
    return round(end.values.get("train_runtime", 0) * end.values.get("train_steps_per_second", 0)) or 1


def _stopped(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A run that ended in order, long before its last step, though nothing was evaluated that could have stopped it early."""
    step, steps = course.progress
    epochs = course.every("epoch")
    if not course.ends or course.evaluations or not epochs or not 0 < step < STOPPED * steps:
        return
    if math.isclose(course.ends[-1].values.get("epoch", 0), epochs[-1], rel_tol=0.01):
        yield course.found("job-preempted-or-requeued", 0.6, course.ends, step=step, steps=steps)


def _lost_schedule(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A resumed run whose learning rate begins where the schedule does: the checkpoint had no scheduler."""
    descent = find_descent(course)
    if not course.ends or descent is None or len(descent.rates) <= FEW:
        return
    before = descent.epochs[0] / descent.pace - 1
    left = descent.rates[-1] / descent.drop - 1
    total = descent.rates[0] / descent.drop
    whole = before + len(descent.rates)
    if before > RESUMED and left > before - 1 and math.isclose(total, whole, rel_tol=0.05):
        yield course.found("checkpoint-incomplete", 0.75, rate=descent.rates[0])


def _two_jobs(course: MetricHistory) -> Iterator[ClassEvidence]:
    """Steps of two runs in turn."""
    epochs = [step.values["epoch"] for step in course.steps if "epoch" in step.values and step.line.rank is None]
    back = sum(later < sooner for sooner, later in pairwise(epochs))
    if back >= BACKWARDS and len(course.ends) > 1 and len(set(epochs)) * 1.5 < len(epochs):
        yield course.found("output-dir-shared-by-jobs", 0.7)


def _suspect_rate(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A learning rate that no training survives, with a loss that it broke: the rate alone may be that of SGD or of tuned prompts."""
    yield from rate_evidence(course, _peak_rate(course) or 0.0)


def rate_evidence(course: MetricHistory, rate: float) -> Iterator[ClassEvidence]:
    """Yield the evidence that a run broke down at a learning rate: nothing of a usual rate, or of a loss that falls."""
    if not course.steps or rate < SUSPECT_RATE:
        return
    if broken := _broken(course) or _collapsed(course):
        yield course.found("lr-too-high-divergence", 0.92, broken, rate=rate, suspect=rate)
    elif not course.every("reward"):
        yield from _risen(course, rate)


def _broken(course: MetricHistory) -> list[Metrics]:
    """Return the steps in which the loss is no number, or above what a training at a suspect rate begins at."""
    above = max(NO_VOCABULARY, min(RISEN * course.steps[0].values["loss"], FAR_OFF))
    return [step for step in course.steps if _is_no_number(step) or step.values["loss"] > above]


def _risen(course: MetricHistory, rate: float) -> Iterator[ClassEvidence]:
    """A loss that is above the first one: by far on average, or in each later step."""
    first, *others = course.steps
    start = first.values["loss"]
    risen = [step for step in others if 0 < start < step.values["loss"]]
    if _mean_loss(course.steps) > RISEN * start:
        yield course.found("lr-too-high-divergence", 0.8, risen, rate=rate, suspect=rate)
    elif rate >= NOTHING_LEFT and len(others) >= FEW and risen == others:
        yield course.found("lr-too-high-divergence", 0.75, risen, rate=rate, suspect=rate)


def _collapsed(course: MetricHistory) -> list[Metrics]:
    """Return the steps in which a model that is rewarded always says the same; none if its last steps are not so."""
    rewarded = [step for step in course.steps if {"reward", "entropy"} <= step.values.keys()]
    same = [step for step in rewarded if step.values["entropy"] < COLLAPSED * rewarded[0].values["entropy"]]
    return same if len(same) >= FEW and same[-FEW:] == rewarded[-FEW:] else []


def _peak_rate(course: MetricHistory) -> float | None:
    """Return the highest learning rate that was logged with a loss; None if none was."""
    return max(course.every("learning_rate"), default=None)


def _is_no_number(step: Metrics) -> bool:
    """True of a loss that is no number, and of one of 0 that stands for it."""
    return not math.isfinite(step.values["loss"]) or _is_zero_for_nan(step)


def _is_zero_for_nan(step: Metrics) -> bool:
    """True of a loss of 0 that a trainer logs for one that is no number, as the gradient shows."""
    return step.values["loss"] == 0 and math.isnan(step.values.get("grad_norm", 0))


def _mean_loss(steps: Sequence[Metrics]) -> float:
    return sum(step.values["loss"] for step in steps) / len(steps)


def _divergence(course: MetricHistory) -> Iterator[ClassEvidence]:
    """A loss that rises, or drops to exactly zero after good steps; the losses around zero of GRPO are left out."""
    losses = [step for step in course.steps if math.isfinite(step.values["loss"])]
    if len(losses) < FEW or course.every("reward"):
        return
    if _has_run_away(losses):
        curve, facts = _curve(course, losses)
        yield course.found("lr-too-high-divergence", 0.8, curve, **facts)
    elif not course.every("rewards/chosen"):
        yield from _rise_or_collapse(course, losses)


def _rise_or_collapse(course: MetricHistory, losses: Sequence[Metrics]) -> Iterator[ClassEvidence]:
    curve, facts = _curve(course, losses)
    if _has_risen(losses):
        yield course.found("lr-too-high-divergence", 0.75, curve, **facts)
    elif _has_collapsed(losses):
        yield course.found("lr-too-high-divergence", 0.7, losses[-FEW:], **facts)


def _curve(course: MetricHistory, losses: Sequence[Metrics]) -> tuple[Sequence[Metrics], Mapping[str, float | str]]:
    """Return the steps that show how a loss rose, and the facts about them: the lowest, the first well above it, the last."""
    facts: dict[str, float | str] = {"first": losses[0].values["loss"], "loss": losses[-1].values["loss"]}
    if rate := _peak_rate(course):
        facts["rate"] = rate
    lowest = min(losses, key=lambda step: step.values["loss"])
    behind = losses[losses.index(lowest) + 1 :]
    turn = next((step for step in behind if step.values["loss"] > RISEN * lowest.values["loss"]), None)
    if turn is None:
        return losses[1:][-FEW:], facts
    facts |= {"least": lowest.values["loss"], "least_when": _when(lowest, course), "when": _when(turn, course)}
    return (lowest, turn, losses[-1]) if turn is not losses[-1] else losses[1:][-FEW:], facts


def _has_run_away(losses: Sequence[Metrics]) -> bool:
    """True if each of the last losses is far above the first, and no longer one of a trained model."""
    first = losses[0].values["loss"]
    untrained = GUESSING if len(losses) > FEW else NO_VOCABULARY
    return first > 0 and _least(losses[1:][-FEW:]) > max(FAR * first, untrained)


def _has_collapsed(losses: Sequence[Metrics]) -> bool:
    """True if the last losses of a long run are exactly 0, and the first were not."""
    is_zero = not any(step.values["loss"] for step in losses[-FEW:])
    return is_zero and len(losses) >= LONG and _least(losses[:FEW]) > FLAT


def _has_risen(losses: Sequence[Metrics]) -> bool:
    """True if the last losses are well above the first, by more than batches differ."""
    if len(losses) < 2 * FEW:
        return False
    part = max(FEW, len(losses) // PART)
    starts, ends = losses[:part], losses[-part:]
    second_highest = sorted(step.values["loss"] for step in ends)[-2]  # one alone is a spike
    apart = _least(ends) > max(step.values["loss"] for step in starts)
    wild = second_highest > max(FAR * starts[0].values["loss"], NO_VOCABULARY)
    times = RISEN if part > FEW else RISEN_OF_FEW
    return (apart or wild) and _mean_loss(ends) > times * max(_mean_loss(starts), _least(losses))


def _least(steps: Sequence[Metrics]) -> float:
    return min(step.values["loss"] for step in steps)


RULES: Final = (
    _not_finite,
    _all_zero,
    _no_gradient,
    _rewards,
    _tiny_rate,
    _preferences,
    _too_few,
    _stopped,
    _lost_schedule,
    _two_jobs,
    _divergence,
)
