"""The values that reward functions and own metrics give for a model's answers, each function in a process of its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.rehearsal.rewards import call_metric, call_rewards
from holdfast.app.evaluate.asking import RequestedMetrics
from holdfast.app.evaluate.datasets import DatasetError
from holdfast.core.evaluation import Example, ModelOutput
from holdfast.core.rows.scan import RewardResult
from holdfast.engine.inspect.made_completions import OWN

LIMIT_S: Final = 600.0
"""Time that a function may take for all answers to a dataset."""


def values_of(
    requested: RequestedMetrics, examples: Sequence[Example], outputs: Sequence[ModelOutput]
) -> Mapping[str, Sequence[float | None]]:
    """Return the values of each requested function, one for each row, by the function's name.

    Raises:
        DatasetError: A function raises, takes too long, or gives no numbers.
    """
    columns = _columns(examples)
    found = {name: _values(_call_metric(name, examples, outputs, columns)) for name in requested.functions}
    if requested.rewards:
        question = _question(examples, outputs, columns)
        results = call_rewards(requested.rewards, question, folder=Path(), limit_s=LIMIT_S)
        found |= {result.name: _values(result) for result in results}
    return found


def _values(result: RewardResult) -> Sequence[float | None]:
    problem = result.problem or result.skipped
    if problem:
        raise DatasetError(f"the function {result.name}: {problem}", "correct the function; the answers are kept")
    return result.rewards


def _call_metric(
    name: str, examples: Sequence[Example], outputs: Sequence[ModelOutput], columns: Mapping[str, list[Any]]
) -> RewardResult:
    predictions, references = [each.text for each in outputs], [each.reference for each in examples]
    own = ("predictions", "references")
    others = {each: column for each, column in columns.items() if each not in own}
    return call_metric(name, predictions, references, others, limit_s=LIMIT_S)


def _columns(examples: Sequence[Example]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for each in examples for name in each.columns)
    return {name: [each.columns.get(name) for each in examples] for name in names}


def _question(
    examples: Sequence[Example], outputs: Sequence[ModelOutput], columns: Mapping[str, list[Any]]
) -> dict[str, Any]:
    """Return the arguments of a reward function as a trainer gives them, with the model's answers as completions."""
    chat = bool(examples) and not isinstance(examples[0].prompt, str)
    return {
        "prompts": [each.prompt for each in examples],
        "completions": _completions(outputs, chat=chat),
        "completion_ids": [list(each.text.encode()) for each in outputs],
        "columns": {**_solutions(examples), **{name: each for name, each in columns.items() if name not in OWN}},
        "answered": False,
    }


def _completions(outputs: Sequence[ModelOutput], *, chat: bool) -> list[Any]:
    if not chat:
        return [each.text for each in outputs]
    return [[{"role": "assistant", "content": each.text}] for each in outputs]


def _solutions(examples: Sequence[Example]) -> dict[str, list[Any]]:
    """Return the references as the column that TRL's own reward functions read; none if no row has one."""
    references = [each.reference for each in examples]
    return {"solution": references} if any(references) else {}
