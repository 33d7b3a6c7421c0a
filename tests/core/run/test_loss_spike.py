"""A spike is proven only by losses that no healthy training logs, whatever its noise, its warm-up and its curriculum."""

import math
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.core.run.loss_spike import LEARNT, LONGEST, SPIKE_LOSSES, LossRange, begin_loss_range, follow_loss_range
from holdfast.core.run.training_event import StepDone
from holdfast.payload.runtime import HELD_LOSSES

JUMP = 2.5
"""Times the loss of easy rows that a curriculum's hard ones have at most."""
Noise = Callable[[random.Random], float]


def wandering(size: float) -> Noise:
    """Noise that takes twenty losses to turn."""
    place = [0.0]

    def draw(chance: random.Random) -> float:
        place[0] = 0.95 * place[0] + 0.31 * chance.gauss(0, 1)
        return math.exp(0.3 * size * place[0])

    return draw


NOISES: dict[str, Callable[[float], Noise]] = {
    "even": lambda size: lambda chance: max(0.01, 1 + size * chance.gauss(0, 1)),
    "skewed": lambda size: lambda chance: math.exp(size * chance.gauss(0, 1)),
    "power law": lambda size: lambda chance: 1 + size * (chance.paretovariate(1.5) - 1),
    "wandering": wandering,
    "hard batches": lambda size: lambda chance: 1 + size * (chance.uniform(10, 60) if chance.random() < 0.1 else 0),
}


def curve(seed: int, noise: str, size: float, steps: int, jumps: int) -> list[float]:
    """Return the losses of a healthy training: a warm-up, a fall to a floor, noise, and rows that become harder at once."""
    chance = random.Random(seed)  # noqa: S311 - curves, no secrets
    drawn = NOISES[noise](size)
    floor, height, warm_up = chance.uniform(0.3, 4), chance.uniform(0.02, 4), chance.choice([0, 10, 40])
    length, learns = chance.choice([5, 20, 100, steps]), chance.choice([1.0, 0.99, 0.95])
    harder = {chance.randrange(steps) for _ in range(jumps)}
    level, losses = 1.0, []
    for step in range(steps):
        level = min(JUMP, level * chance.uniform(1.1, JUMP)) if step in harder else 1 + (level - 1) * learns
        losses.append((floor + height * math.exp(-max(step - warm_up, 0) / length)) * level * drawn(chance))
    return losses


def follow(losses: Sequence[float | None], known: LossRange | None = None, every: int = 5) -> LossRange:
    known = known or LossRange()
    for number, loss in enumerate(losses, 1):
        known = follow_loss_range(known, StepDone(step=number * every, loss=loss))
        if known.has_spiked:
            break
    return known


@settings(max_examples=150)
@given(
    st.integers(0, 2**32),
    st.sampled_from([*NOISES]),
    st.floats(0.01, 1.0),
    st.sampled_from([60, 200, 500]),
    st.integers(0, 4),
)
def test_no_healthy_training_spikes(seed: int, noise: str, size: float, steps: int, jumps: int) -> None:
    """Noisy, heavy-tailed, with a warm-up, with a curriculum whose losses jump."""
    assert not follow(curve(seed, noise, size, steps, jumps)).has_spiked


@given(st.integers(0, 2**32), st.lists(st.tuples(st.integers(1, SPIKE_LOSSES - 1), st.floats(2, 1e6)), max_size=6))
def test_spikes_that_pass_are_left_alone(seed: int, spikes: list[tuple[int, float]]) -> None:
    """However high, and however often, if the loss comes back before the row is full."""
    calm = curve(seed, "skewed", 0.1, 60, 0)
    losses = [*calm]
    for length, height in spikes:
        losses += [max(calm) * height] * length + calm[-20:]

    assert not follow(losses).has_spiked


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from([*NOISES]), st.floats(0.01, 0.1), st.floats(12, 1e6))
@example(0, "even", 0.01, 1e300)
def test_a_loss_that_stays_far_above_all_is_a_spike(seed: int, noise: str, size: float, height: float) -> None:
    """It began with the first high loss, and is proven by the last of the row."""
    calm = [each for each in curve(seed, noise, size, 60, 0)[-LEARNT:] for _ in (0, 1)]
    bad = max(calm) * height

    known = follow([*calm, *[bad] * (SPIKE_LOSSES + 5)])

    assert known.has_spiked
    assert known.spike is not None
    assert (known.spike.after, known.spike.first) == (len(calm) * 5, len(calm) * 5 + 5)
    assert known.spike.last == (len(calm) + SPIKE_LOSSES) * 5


CALM = [1.5, 1.1, 0.9, 1.2] * 10


@pytest.mark.parametrize(
    "losses",
    [
        [*CALM[: LEARNT - 1], *[20.0] * 40],  # too little is known
        [*CALM, *(20.0 * 0.93**number for number in range(40))],  # it falls
        [*CALM, *[20.0, 1.0] * 40],  # it comes back each time
        [*CALM, *[3.0] * 40],  # it is high, and not far above
        [*[12.0] * 5, *CALM, *[11.0] * 40],  # it was higher
        [-each for each in CALM] + [20.0] * 40,  # losses that can be negative
        [*CALM, *[None, 0.0] * 40],  # steps that were skipped, or not logged
        [0.02 * each for each in CALM] + [0.5] * 40,  # it is small
    ],
)
def test_what_is_no_spike(losses: list[float | None]) -> None:
    assert not follow(losses).has_spiked


def test_a_spike_that_came_back_raises_the_bar() -> None:
    """Losses are compared with all before, those of spikes included."""
    spike = [30.0] * (SPIKE_LOSSES - 1)

    assert not follow([*CALM, *spike, *CALM, *[25.0] * SPIKE_LOSSES]).has_spiked
    assert follow([*CALM, *spike, *CALM, *[300.0] * SPIKE_LOSSES]).has_spiked


def test_another_attempt_knows_how_high_the_losses_were() -> None:
    """What spiked is not among them."""
    spiked = follow([9.0, *CALM, *[70.0] * SPIKE_LOSSES])
    known = begin_loss_range(spiked)

    assert spiked.has_spiked
    assert (known.highest, known.count, known.spike) == (9.0, 0, None)
    assert not follow([*CALM, *[8.0] * SPIKE_LOSSES], known).has_spiked


def test_checkpoints_are_held_for_as_long_as_a_spike_is_followed() -> None:
    """The training process cannot import what says how long that is."""
    assert HELD_LOSSES == LONGEST
