"""The rewards of completions of sample rows; the functions run only on request."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from holdfast.adapters.rehearsal.rewards import call_rewards, rewrite_rows
from holdfast.adapters.targets import path_beside
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import RewardResult
from holdfast.engine.inspect.made_completions import make_question

ROWS: Final = 4
"""Rows for which completions are made, right and wrong ones of each."""


def reward_samples(
    document: Document, samples: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> tuple[RewardResult, ...]:
    """Return each reward function's results; the job's own `map` rewrites the rows first.

    Args:
        document: The request.
        samples: Rows of the data, as they are.
        names: `file.py:function`, `module:function`, or the name of one of TRL's.

    Raises:
        UsageError: The rows have no `prompt`, which a trainer would ask a model to complete.
    """
    samples = samples[:ROWS]
    if isinstance(name := document.get("dataset.map", None), str):
        samples = rewrite_rows(path_beside(name, document.path), samples)
    if not samples or "prompt" not in samples[0]:
        fix = "map the data first: `holdfast inspect --method grpo` may print a mapping"
        raise UsageError("the rows have no `prompt` to complete", where="--rewards", fix=fix)
    return call_rewards(names, asdict(make_question(samples)))
