"""Completions to try reward functions on: right where the data has an answer, wrong, and empty."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ANSWERS = ("solution", "answer", "ground_truth", "reference_answer", "target")
"""Columns that usually hold the right answer."""
OWN = ("prompt", "completion", "completion_ids")
"""Columns that the trainer does not hand on under their names."""
UNSURE = "I do not know."


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardRequest:
    """What a reward function is asked, a value for each completion.

    Attributes:
        prompts: Texts, or lists of messages.
        completions: The same.
        completion_ids: Their tokens.
        columns: The data's other columns.
        answered: Whether there are right answers among the completions.
    """

    prompts: list[Any]
    completions: list[Any]
    completion_ids: list[list[int]]
    columns: Mapping[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    answered: bool = False


def make_question(rows: Sequence[Mapping[str, Any]], encode: Callable[[str], list[int]] | None = None) -> RewardRequest:
    """Return the request that a trainer would send to reward functions for some rows, with completions made here.

    Args:
        rows: Rows of the training data, each with a `prompt`.
        encode: Makes ids of a text; each byte is one where there is no tokenizer.

    >>> made = make_question([{"prompt": "2 + 2?", "answer": "4"}])
    >>> made.completions[0], made.completions[-1], made.columns["answer"][:2], made.answered
    ('4', '', ['4', '4'], True)
    """
    answer = next((name for name in ANSWERS if rows and name in rows[0]), None)
    chat = bool(rows) and isinstance(rows[0].get("prompt"), list)
    answers = [(row, text) for row in rows for text in _texts(row.get(answer) if answer else None)]
    kept = [name for name in (rows[0] if rows else ()) if name not in OWN]
    return RewardRequest(
        prompts=[row.get("prompt") for row, _ in answers],
        completions=[[{"role": "assistant", "content": text}] if chat else text for _, text in answers],
        completion_ids=[[*(encode or _bytes)(text), 0] for _, text in answers],
        columns={name: [row.get(name) for row, _ in answers] for name in kept},
        answered=answer is not None,
    )


def _texts(answer: Any) -> list[str]:
    """Return completions for one row: in the ways that answers are usually asked for, wrong, and none at all."""
    known = None if answer is None or isinstance(answer, list | dict) else str(answer)
    right = [] if known is None else _phrased(known)
    # A number that does not have the right one in it, for functions that look no closer.
    wrong = next((digit * 3 for digit in "0123456789" if digit not in (known or "")), UNSURE)
    return [*right, *_phrased(wrong), f"{UNSURE} " * 40, ""]


def _phrased(answer: str) -> list[str]:
    return [
        answer,
        f"The answer is $\\boxed{{{answer}}}$.",
        f"<think>\nLet me see.\n</think>\n<answer>\n{answer}\n</answer>",
        f"<think>Let me see.</think>\n#### {answer}",
    ]


def _bytes(text: str) -> list[int]:
    return list(text.encode())
