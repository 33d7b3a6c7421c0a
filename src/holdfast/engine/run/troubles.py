"""Signs of trouble in the numbers of a training that goes on. Each is a fact with its numbers; nothing is ended for it.

Each has a look-alike that stays quiet: losses that vary more than they fall, an evaluation set that is harder than the training rows, a
group of equal rewards now and then, one slow step, a row that is longer than all before it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from statistics import mean, median, stdev
from typing import Final

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.course import MEDIAN_STEPS, Course
from holdfast.core.run.trouble import Trouble, TroubleKind
from holdfast.engine.units import render_bytes, render_duration, render_number

FEW: Final = 10
"""Values in a row that a sign needs."""
FEWEST: Final = 2
"""Such values of a training that has done all of its steps, and has no more."""
LOSSES: Final = 40
RISEN: Final = 1.5
"""Times the lowest loss at which one has risen."""
RISEN_BY: Final = 0.1
"""Nats below which a rise means nothing: losses near 0 double by chance."""
SPAN: Final = 0.25
"""Share of the steps before which a loss that does not fall means nothing: the rate may still rise."""
FALLEN: Final = 0.005
"""Share of the loss by which it has to fall, or nothing is learnt."""
LEVEL: Final = 0.02
"""Share of the loss within which it is level, and does not rise."""
NOTHING: Final = 0.05
"""A loss so small needs not fall."""
OVERFIT: Final = 1.1
"""Times the lowest loss of an evaluation that the newest has, where it rises."""
ABOVE: Final = 1.3
"""Times the training loss that an evaluation has that is far above it."""
CUT: Final = 0.9
SLOWER: Final = 2.0
SLOWER_S: Final = 0.5
BLOCKS: Final = 10
GROWN: Final = 1.1
GROWN_BYTES: Final = 256 << 20


def new_troubles(attempt: AttemptState) -> Iterator[Trouble]:
    """Yield the signs of trouble that an attempt shows, and that were not noted before: each kind once."""
    noted = {each.kind for each in attempt.troubles}
    for kind, find in SIGNS.items():
        if kind not in noted and (text := find(attempt.course, attempt.steps / (attempt.max_steps or 1))):
            yield Trouble(kind=kind, text=text, step=attempt.steps)


def _loss_rises(course: Course, _done: float) -> str:
    """The last losses are all above the lowest ones, by half. Losses of rewards say nothing."""
    if len(course.losses) < LOSSES or "reward" in course.metrics:
        return ""
    windows = [course.losses[start : start + FEW] for start in range(0, len(course.losses) - FEW, FEW)]
    lowest, last = min(windows, key=mean), course.losses[-FEW:]
    if min(last) <= max(lowest) or mean(last) < RISEN * mean(lowest) or mean(last) - mean(lowest) < RISEN_BY:
        return ""
    return f"the loss rises: it was {render_number(mean(lowest))} at its lowest, and is {render_number(mean(last))} now"


def _loss_is_flat(course: Course, done: float) -> str:
    """The losses have not fallen by half a percent, as far as their spread allows to say; nor has that of evaluations."""
    size = len(course.losses) // 4
    if len(course.losses) < LOSSES or done < SPAN or "reward" in course.metrics:
        return ""
    first, last = course.losses[:size], course.losses[-size:]
    fall, error = mean(first) - mean(last), ((stdev(first) ** 2 + stdev(last) ** 2) / size) ** 0.5
    is_level = abs(fall) < LEVEL * mean(first) and fall + 2 * error < FALLEN * mean(first)
    if mean(first) < NOTHING or not is_level or _falls(course.evaluations):
        return ""
    return f"the loss does not fall: {render_number(mean(first))} in the first quarter of the steps, {render_number(mean(last))} in the last"


def _falls(losses: Sequence[float]) -> bool:
    return len(losses) > 1 and losses[-1] < (1 - FALLEN) * losses[0]


def _evaluation_rises(course: Course, _done: float) -> str:
    """The last two evaluations were each worse than the one before, and are far above both the best one and the training."""
    losses, trained = course.evaluations, course.losses[-FEW:]
    if len(losses) < 3 or not trained or not losses[-1] > losses[-2] > losses[-3]:  # noqa: PLR2004 - two rises
        return ""
    if losses[-1] < OVERFIT * min(losses) or losses[-1] < ABOVE * mean(trained):
        return ""
    values = [render_number(value) for value in (losses[-1], min(losses), mean(trained))]
    return "the loss of evaluations rises: {}, after {} at its lowest, while the training has {}".format(*values)


def _rewards_are_alike(course: Course, done: float) -> str:
    """No group of completions had different rewards: nothing is learnt from them."""
    few = FEWEST if done >= 1 else FEW
    spread = course.metrics.get("reward_std", ())[-FEW:]
    alike = course.metrics.get("frac_reward_zero_std", ())[-FEW:]
    seen = max(len(spread), len(alike))
    if (len(spread) >= few and not any(spread)) or (len(alike) >= few and min(alike) >= 1):
        steps = f"the last {seen}" if seen == FEW else f"all {seen}"
        return f"all completions of a prompt had the same reward in {steps} logged steps: nothing is learnt from them"
    return ""


def _completions_are_cut(course: Course, _done: float) -> str:
    """Nine in ten completions ran into the limit."""
    shares = course.metrics.get("completions/clipped_ratio", ())[-FEW:]
    if len(shares) < FEW or min(shares) < CUT:
        return ""
    return f"{mean(shares):.0%} of the completions were cut at the limit in the last {FEW} logged steps (`max_completion_length`)"


def _is_slower(course: Course, _done: float) -> str:
    """Steps take twice as long as they once did, each of the last ones. Completions may grow, so that those of rewards say nothing."""
    last, fastest_s = course.seconds[-MEDIAN_STEPS:], course.fastest_s
    if len(course.seconds) < 2 * MEDIAN_STEPS or not fastest_s or "reward" in course.metrics:
        return ""
    now_s = median(last)
    if now_s < SLOWER * fastest_s or now_s - fastest_s < SLOWER_S or min(last) < fastest_s:
        return ""
    return f"steps take {now_s / fastest_s:.1f} times as long as before: {render_duration(now_s)} instead of {render_duration(fastest_s)}"


def _memory_grows(course: Course, _done: float) -> str:
    """The peak of GPU memory grew in each of ten parts of the last steps: longer rows make it grow ever more rarely."""
    size = len(course.memory_bytes) // BLOCKS
    if size < FEW or "cpu" in course.hardware:  # there, pages of the dataset's files count too
        return ""
    peaks = [max(course.memory_bytes[start : start + size]) for start in range(0, size * BLOCKS, size)]
    grown = all(later > earlier for earlier, later in pairwise(peaks))
    if not grown or peaks[-1] < GROWN * peaks[0] or peaks[-1] - peaks[0] < GROWN_BYTES:
        return ""
    return f"memory grows with each step: from {render_bytes(peaks[0])} to {render_bytes(peaks[-1])} in {size * BLOCKS} steps"


def _push_failed(course: Course, _done: float) -> str:
    """An upload failed, which stops no training."""
    return f"a push to the Hub failed: {course.push_failed}" if course.push_failed else ""


def _disk_fills(course: Course, _done: float) -> str:
    """The checkpoints that are still to come do not fit on the disk. Where some are deleted for new ones, one more than are kept has to."""
    saved = course.saved
    if (
        saved is None
        or not saved.bytes
        or saved.free_bytes is None
        or course.max_steps is None
        or course.saved_every < 1
    ):
        return ""
    coming = ceil((course.max_steps - (saved.step or 0)) / course.saved_every)
    if course.keeps is not None:
        coming = min(coming, max(course.keeps + 1 - saved.kept, 0))
    if coming * saved.bytes <= saved.free_bytes:
        return ""
    each, free = render_bytes(saved.bytes), render_bytes(saved.free_bytes)
    more = "1 more checkpoint" if coming == 1 else f"{coming} more checkpoints"
    verb = "is" if coming == 1 else "are"
    return f"the disk fills up: {more} of {each} {verb} to be kept (`save_total_limit`), and {free} are free"


SIGNS: Final[dict[TroubleKind, Callable[[Course, float], str]]] = {
    "loss-rising": _loss_rises,
    "loss-flat": _loss_is_flat,
    "evaluation-rising": _evaluation_rises,
    "rewards-alike": _rewards_are_alike,
    "completions-cut": _completions_are_cut,
    "slower": _is_slower,
    "memory-grows": _memory_grows,
    "push-failed": _push_failed,
    "disk-fills": _disk_fills,
}
