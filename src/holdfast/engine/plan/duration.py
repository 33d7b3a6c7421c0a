"""How long a job takes, and what it costs.

A step takes as long as its arithmetic, or as the host needs to launch its operations, whichever is longer.
"""

import math
from typing import Final

from holdfast.catalog.hub.gpus import GpuCeilings
from holdfast.core.check.finding import MissingFactError
from holdfast.core.plan.estimate import Interval, exactly
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.plan.parameters import active_parameters
from holdfast.engine.plan.states import model_bytes
from holdfast.engine.plan.step import TrainingStep

FORWARD: Final = 2
"""Operations per weight and token: a product and a sum."""
LAUNCH_S: Final = Interval(2.1e-3, 1.4e-3, 2.6e-3)
"""To launch the operations of a layer's forward pass. The backward pass takes twice as long. Source: 39 runs on an H200 (docs/estimates.md), of which held-out
families were not looked at; the lower end: 25-30 thousand operations of Qwen2.5-0.5B at 5 microseconds each (docs/estimates.md, Constants)."""
ADAPTED_LAUNCH_S: Final = Interval(3.4e-3, 2.6e-3, 5.0e-3)
"""The same with an adapter on every projection. Source: the same runs."""
QUANTIZED_LAUNCH_S: Final = Interval(4.4e-3, 3.4e-3, 5.6e-3)
"""The same with an adapter on weights in 4 bits. Source: the same runs."""
GENERATED: Final = Interval(0.7, 0.6, 0.8)
"""Of that, what a layer takes for a generated token, without gradients. Source: the same runs."""
TIMEOUT_MARGIN: Final = 1.3
"""Of the upper time, which includes saving and pushing."""
TIMEOUT_STEP_S: Final = 300
"""Timeouts are rounded up to whole multiples of this."""
HOUR_S: Final = 3600


def count_steps(step: TrainingStep, rows: int, epochs: float, max_steps: int) -> int:
    """Return the optimizer steps: `max_steps` if that is given, else those of the epochs.

    Args:
        step: The training step.
        rows: Rows that an epoch goes over, or packs of them; completions, for methods that generate them.
        epochs: How often each is seen.
        max_steps: -1 where it is not given.
    """
    if max_steps > 0:
        return max_steps
    per_step = step.batch * step.accumulation * step.sharding.processes
    return max(1, math.ceil(math.ceil(rows / per_step) * epochs))


def padded_length(step: TrainingStep, lengths: RowLengths | None) -> float:
    """Return the tokens of a text in a micro-batch, with its padding: the longest allowed where the rows were not measured.

    Prompts are padded to the longest of those that completions are generated for at once; completions are taken as long as they may be.
    """
    if lengths is None:
        return step.length
    if step.rollout:
        return min(step.rollout.prompt, lengths.mean_longest(step.rollout.prompts)) + step.rollout.completion
    if lengths.packed is not None:
        return step.length * lengths.packed
    return lengths.mean if step.flattened else lengths.mean_longest(step.rows)


def step_flops(step: TrainingStep, length: float | None) -> float:
    """Return the arithmetic of one micro-batch, with all that is computed again.

    Args:
        step: The training step.
        length: Tokens of each of its texts, with padding. Default: the longest allowed.

    Per token 2 for each weight forward, 2 for the gradient of activations, and 2 for that of weights if they are trained; 2 more with
    checkpoints, and for a reference. Attention takes `2Sq` per layer and token forward, where half of the pairs are left out, and 2.5 times that
    back. With a mask, and by plain products, no pair is left out; texts in one row are pairs of all its tokens then.

    Source: docs/estimates.md, Constants.
    """
    length = step.length if length is None else length
    weights = FORWARD * active_parameters(step.model)
    pairs = FORWARD * _attended(step, length) * step.model.attention.query * step.model.layers
    again = step.checkpointing + step.scores_reference
    return step.rows * length * ((2 + (step.adapter is None) + again) * weights + (3.5 + again) * pairs)


def _attended(step: TrainingStep, length: float) -> float:
    """Return the tokens that one of a text of some length is compared with, twice those where no pair is left out."""
    if step.attention == "flash" or not (step.masked or step.attention == "eager"):
        return length
    return 2 * length * (step.rows if step.flattened else 1)


def launch_seconds(step: TrainingStep) -> Interval:
    """Return the time to launch the operations of a micro-batch."""
    again = step.model.layers * (3 + step.checkpointing)
    reference = step.model.layers * step.scores_reference
    return exactly(again) * _launch(step) + exactly(reference) * LAUNCH_S


def _launch(step: TrainingStep) -> Interval:
    if step.adapter is None:
        return LAUNCH_S
    return QUANTIZED_LAUNCH_S if step.quantization else ADAPTED_LAUNCH_S


def generation_seconds(step: TrainingStep, gpu: GpuCeilings) -> Interval:
    """Return the time to generate the completions of an optimizer step, all at once and a token at a time.

    Raises:
        MissingFactError: vLLM generates them.
    """
    if step.rollout is None:
        return exactly(0)
    if not step.rollout.here:
        raise MissingFactError("time", "how fast vLLM generates is not known")
    return token_seconds(step, gpu) * exactly(step.rollout.completion)


def token_seconds(step: TrainingStep, gpu: GpuCeilings) -> Interval:
    """Return the time to generate one more token of each text of a batch.

    It takes as long as its launches, or as the weights need to be read. Texts end early as a rule, so the lower end is 0.
    """
    launches = exactly(step.model.layers) * _launch(step) * GENERATED
    reading = model_bytes(step) / gpu.bytes_per_s
    return Interval(max(launches.value, reading), 0.0, max(launches.high, reading))


def step_seconds(step: TrainingStep, gpu: GpuCeilings, lengths: RowLengths | None) -> Interval:
    """Return the time of one optimizer step.

    Where the rows were not measured, the upper end has every row as long as the longest allowed, and the lower end has no arithmetic.

    Args:
        step: The training step.
        gpu: What the GPU reaches.
        lengths: How long the rows are; None if unknown.

    Raises:
        MissingFactError: vLLM generates; how fast that goes is not known.
    """
    launches, arithmetic = launch_seconds(step), _arithmetic_seconds(step, gpu, lengths)
    states = exactly(_optimizer_bytes(step) / gpu.bytes_per_s)
    least = max(arithmetic.low, launches.low) if lengths and not step.rollout else launches.low
    micro = Interval(max(arithmetic.value, launches.value), least, max(arithmetic.high, launches.high))
    return exactly(step.accumulation) * micro + states + generation_seconds(step, gpu)


def is_launch_bound(step: TrainingStep, gpu: GpuCeilings, lengths: RowLengths | None) -> bool:
    """Whether a micro-batch waits for the host to launch its operations, so that a faster GPU makes it no faster.

    Args:
        step: The training step.
        gpu: What the GPU reaches.
        lengths: How long the rows are; None if unknown.
    """
    return launch_seconds(step).value >= _arithmetic_seconds(step, gpu, lengths).value


def _arithmetic_seconds(step: TrainingStep, gpu: GpuCeilings, lengths: RowLengths | None) -> Interval:
    flops, reached = step_flops(step, padded_length(step, lengths)), gpu.efficiency
    return Interval(*(flops / (gpu.flops * part) for part in (reached.value, reached.high, reached.low)))


def _optimizer_bytes(step: TrainingStep) -> float:
    """Return the bytes that the optimizer reads and writes: weights and states twice, gradients once."""
    return step.trained * step.trained_bytes * (2 + 2 * step.optimizer.states + 1) / step.sharding.processes


def forward_seconds(step: TrainingStep, gpu: GpuCeilings, lengths: RowLengths | None) -> Interval:
    """Return the time of one evaluation batch, which only goes forward; of one that is generated, with its completions.

    Args:
        step: The training step, with the rows of an evaluation batch as its `batch`.
        gpu: What the GPU reaches.
        lengths: How long the training rows are, which those of the evaluation are taken to be like; None if unknown.

    Raises:
        MissingFactError: vLLM generates; how fast that goes is not known.
    """
    length, passes = padded_length(step, lengths), 1 + step.scores_reference
    weights = FORWARD * active_parameters(step.model)
    pairs = FORWARD * _attended(step, length) * step.model.attention.query * step.model.layers
    flops, reached = passes * step.rows * length * (weights + pairs), gpu.efficiency
    launches = exactly(step.model.layers * passes) * _launch(step)
    arithmetic = Interval(*(flops / (gpu.flops * part) for part in (reached.value, reached.high, reached.low)))
    least = max(arithmetic.low, launches.low) if lengths and not step.rollout else launches.low
    forward = Interval(max(arithmetic.value, launches.value), least, max(arithmetic.high, launches.high))
    return forward + generation_seconds(step, gpu)


def cost_of(seconds: Interval, usd_per_hour: float) -> Interval:
    """Return what the time costs, in USD.

    >>> cost_of(Interval(3600, 1800, 7200), 2.0)
    Interval(value=2.0, low=1.0, high=4.0)
    """
    return seconds * exactly(usd_per_hour / HOUR_S)


def timeout_for(seconds: Interval) -> int:
    """Return the timeout: the upper time and 30 % more, rounded up to five minutes.

    >>> timeout_for(Interval(1000, 500, 2000))
    2700
    """
    return math.ceil(TIMEOUT_MARGIN * seconds.high / TIMEOUT_STEP_S) * TIMEOUT_STEP_S
