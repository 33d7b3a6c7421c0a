"""The values that reward functions and own metrics give for a model's answers, each function in a process of its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.rehearsal.rewards import call_metric, call_rewards
from holdfast.app.evaluate.datasets import DatasetError
from holdfast.core.evaluation import Example, ModelOutput
from holdfast.engine.inspect.made_completions import OWN

LIMIT_S: Final = 600.0
"""Time that a function may take for all answers to a dataset."""


def values_of(
    functions: Sequence[str], rewards: Sequence[str], examples: Sequence[Example], outputs: Sequence[ModelOutput]
) -> Mapping[str, Sequence[float | None]]:
    """Return each function's values, one for each row, by the function's name.

    Raises:
        DatasetError: A function raises, takes too long, or gives no numbers.
    """
    columns = _columns(examples)
    found: dict[str, Sequence[float | None]] = {}
    for name in functions:
        answer = call_metric(
            name,
            [each.text for each in outputs],
            [each.reference for each in examples],
            {each: column for each, column in columns.items() if each not in ("predictions", "references")},
            limit_s=LIMIT_S,
        )
        found[name] = _rewards(answer.name, answer.problem or answer.skipped, answer.rewards)
    question = _question(examples, outputs, columns)
    for answer in call_rewards(rewards, question, folder=Path(), limit_s=LIMIT_S) if rewards else ():
        found[answer.name] = _rewards(answer.name, answer.problem or answer.skipped, answer.rewards)
    return found


def _rewards(name: str, problem: str, values: Sequence[float | None]) -> Sequence[float | None]:
    if problem:
        raise DatasetError(f"the function {name}: {problem}", "correct the function; the answers are kept")
    return values


def _columns(examples: Sequence[Example]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for each in examples for name in each.columns)
    return {name: [each.columns.get(name) for each in examples] for name in names}


def _question(
    examples: Sequence[Example], outputs: Sequence[ModelOutput], columns: Mapping[str, list[Any]]
) -> dict[str, Any]:
    """Return the arguments of a reward function as a trainer gives them, with the model's answers as completions."""
    chat = bool(examples) and not isinstance(examples[0].prompt, str)
    reference = {"solution": [each.reference for each in examples]} if any(each.reference for each in examples) else {}
    return {
        "prompts": [each.prompt for each in examples],
        "completions": [[{"role": "assistant", "content": each.text}] if chat else each.text for each in outputs],
        "completion_ids": [list(each.text.encode()) for each in outputs],
        "columns": {**reference, **{name: column for name, column in columns.items() if name not in OWN}},
        "answered": False,
    }
