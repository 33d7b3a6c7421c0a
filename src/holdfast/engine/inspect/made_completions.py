"""Completions to try reward functions on: right where the data has an answer, wrong, and empty."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ANSWERS = ("solution", "answer", "ground_truth", "reference_answer", "target")
"""Columns that usually hold the right answer."""
OWN = ("prompt", "completion", "completion_ids")
"""Columns that the trainer does not hand on under their names."""
UNSURE = "I do not know."


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardRequest:
    """The arguments of a reward function, a value for each completion.

    Attributes:
        prompts: Texts, or lists of messages.
        completions: The same.
        completion_ids: The bytes of each, and a zero that ends it, in place of tokens.
        columns: The data's other columns.
        answered: Whether there are right answers among the completions.
    """

    prompts: list[Any]
    completions: list[Any]
    completion_ids: list[list[int]]
    columns: Mapping[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    answered: bool = False


def make_question(rows: Sequence[Mapping[str, Any]]) -> RewardRequest:
    """Return the request that a trainer would send to reward functions for some rows, with completions made here.

    Args:
        rows: Rows of the training data, each with a `prompt`.

    >>> made = make_question([{"prompt": "2 + 2?", "answer": "4"}])
    >>> made.completions[0], made.completions[-1], made.columns["answer"][:2], made.answered
    ('4', '', ['4', '4'], True)
    """
    first = rows[0] if rows else {}
    answer = next((name for name in ANSWERS if name in first), None)
    pairs = list(_with_texts(rows, answer))
    repeated, texts = [row for row, _ in pairs], [text for _, text in pairs]
    return RewardRequest(
        prompts=_column("prompt", repeated),
        completions=_completions(texts, first.get("prompt")),
        completion_ids=[[*text.encode(), 0] for text in texts],
        columns={name: _column(name, repeated) for name in first if name not in OWN},
        answered=answer is not None,
    )


def _with_texts(rows: Iterable[Mapping[str, Any]], answer: str | None) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield each row with each text that is made of its answer."""
    for row in rows:
        for text in _texts(row.get(answer) if answer else None):
            yield row, text


def _column(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [row.get(name) for row in rows]


def _completions(texts: list[str], prompt: Any) -> list[Any]:
    """Return completions as the trainer would: lists of messages, if the first prompt is one."""
    return [[{"role": "assistant", "content": text}] for text in texts] if isinstance(prompt, list) else texts


def _texts(answer: Any) -> list[str]:
    """Return completions for one row: the answer in the usual formats, a wrong one likewise, one that is unsure, and none."""
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
