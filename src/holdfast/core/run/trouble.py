"""Signs of trouble in a training that goes on: nothing is ended for them, but a person may want to know."""

from dataclasses import dataclass
from typing import Literal

TroubleKind = Literal[
    "no-progress",
    "loss-rising",
    "loss-flat",
    "evaluation-rising",
    "rewards-alike",
    "completions-cut",
    "slower",
    "memory-grows",
    "push-failed",
    "disk-fills",
]
"""Kinds of signs of trouble."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A sign of trouble.

    Attributes:
        kind: What kind of sign.
        text: What was seen, in a sentence with the numbers.
        step: Optimizer steps done then.
    """

    kind: TroubleKind
    text: str
    step: int = 0
