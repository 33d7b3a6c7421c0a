"""Why all rewards are the same: the functions look at nothing, or take messages for text."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from holdfast.payload.rehearsal.trainers.rewarding import RewardRecord, Rewards, WatchedList, WatchedMessage

TEXTS = ("7", "", "I do not know.")
UNREAD = "do not look at them"
AS_TEXT = "lists of messages"


class Faults:
    """Takes down what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def fault(self, _name: str, _stage: str, because: str, *, fix: str, **_more: object) -> None:
        """Take down a fault with its fix."""
        self.told.append(f"{because} {fix}")

    def warning(self, *_told: object) -> None:
        """Take down nothing."""


REWARDS: dict[str, tuple[Callable[[Sequence[Any]], list[float]], bool, str]] = {
    "constant": (lambda all_: [0.0 for _ in range(len(all_))], True, UNREAD),
    "equal": (lambda all_: [float(each == "7") for each in all_], True, AS_TEXT),
    "contains": (lambda all_: [float("7" in each) for each in all_], True, AS_TEXT),
    "first": (lambda all_: [float(each[0] == "7") for each in all_], True, AS_TEXT),
    "length": (lambda all_: [float(len(each)) for each in all_], True, AS_TEXT),
    "content": (lambda all_: [0.0 * len(each[0]["content"]) for each in all_], True, ""),
    "constant-of-texts": (lambda all_: [0.0 for _ in range(len(all_))], False, UNREAD),
    "texts": (lambda all_: [0.0 * len(each) for each in all_], False, ""),
}


@pytest.mark.parametrize("name", REWARDS)
def test_rewards_that_are_the_same_come_with_their_reason(name: str) -> None:
    """Messages that are taken for text have a fix of their own: what to read instead."""
    function, messages, says = REWARDS[name]
    made = [[WatchedMessage(role="assistant", content=each)] if messages else each for each in TEXTS]
    completions, events = WatchedList(made), Faults()
    totals = function(completions)

    Rewards(events)._conclude(  # type: ignore[arg-type]  # takes down what is told
        RewardRecord(numbers=True), ([], ["one"] * len(TEXTS), completions, WatchedList()), totals, None
    )

    told = " ".join(events.told)
    assert (UNREAD in told, AS_TEXT in told) == (says == UNREAD, says == AS_TEXT)
    assert ('completion[0]["content"]' in told) == (says == AS_TEXT)
