"""What reward functions give for completions of sample rows; they run only because somebody asked."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from holdfast.adapters.rehearsal.rewards import call_rewards
from holdfast.core.errors import UsageError
from holdfast.core.scan import RewardResult
from holdfast.engine.inspect.made_completions import make_question

ROWS: Final = 4
"""Rows for which completions are made, right and wrong ones of each."""


def reward_samples(samples: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[RewardResult, ...]:
    """Return what each function gives.

    Args:
        samples: Rows of the data, as they are.
        names: `file.py:function`, `module:function`, or the name of one of TRL's.

    Raises:
        UsageError: The rows have no `prompt`, which a trainer would ask a model to complete.
    """
    if not samples or "prompt" not in samples[0]:
        fix = "map the data first: `holdfast inspect --method grpo` may tell how"
        raise UsageError("the rows have no `prompt` to complete", where="--rewards", fix=fix)
    return call_rewards(names, asdict(make_question(samples[:ROWS])))
