"""The rewards that a job names: where each is written, what a trainer is given, and the numbers that one gave."""

import math
from typing import Any, Final

from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import RewardResult
from holdfast.core.text.places import Place

IN_JOB_FILE: Final = "rewards"
IN_PROGRAM: Final = "trainer.reward_funcs"


def reward_key(named: object, name: str) -> str:
    """Return the key of one of the rewards that a job file names.

    >>> reward_key(["length", "rewards.py:right"], "rewards.py:right"), reward_key("length", "length")
    ('rewards.1', 'rewards')
    """
    return f"{IN_JOB_FILE}.{named.index(name)}" if isinstance(named, list) and name in named else IN_JOB_FILE


def numbers_of(result: RewardResult) -> list[float]:
    """Return the numbers that a reward function gave to completions, without NaN."""
    return [reward for reward in result.rewards if reward is not None and not math.isnan(reward)]


def given_rewards(job: Document, trainer: Call) -> list[Any]:
    """Return the rewards that a trainer is given; without any, None alone.

    Raises:
        MissingFactError: The source hides it.
    """
    given = job.get(IN_PROGRAM, trainer.positional[1] if len(trainer.positional) > 1 else None)
    return given if isinstance(given, list) else [given]


def rewards_place(trainer: Call) -> Place | None:
    """Return where a trainer is given its rewards by position; None if their key has a place."""
    return None if "reward_funcs" in trainer.arguments else trainer.name_place
