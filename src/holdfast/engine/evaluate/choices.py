"""Multiple choice: which columns hold the question, the choices and the right one.

Source: the cards of cais/mmlu, allenai/ai2_arc, Rowan/hellaswag and tau/commonsense_qa.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Final

from holdfast.core.columns import ListOf, Scalar, Struct
from holdfast.engine.mapping.found import ColumnReading, DataProfile
from holdfast.engine.mapping.readings import find_request

CHOICES: Final = ("choices", "options", "endings", "answer_choices")
RIGHT: Final = (
    "answer",
    "answerKey",
    "answer_key",
    "label",
    "correct",
    "gold",
    "target",
    "correct_answer",
    "answer_idx",
)
OPENINGS: Final = ("ctx", "context")
"""Names of a text that a choice continues."""
FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class ChoiceColumns:
    """The columns of multiple choice.

    Attributes:
        question: The question, or the text that a choice continues.
        choices: The choices.
        right: Which of them is right.
    """

    question: str
    choices: str
    right: str


def find_choices(data: DataProfile) -> ChoiceColumns | None:
    """Return the columns of multiple choice; None where there is none."""
    choices = next((name for name in CHOICES if name in data.columns and _holds_choices(data, name)), None)
    right = next((name for name in RIGHT if name in data.columns), None)
    if choices is None or right is None:
        return None
    request = find_request(data, besides=(right,))
    if isinstance(request, ColumnReading):
        return ChoiceColumns(request.needs[0], choices, right)
    opening = next((name for name in OPENINGS if data.forms.get(name) == "text"), None)
    return ChoiceColumns(opening, choices, right) if opening else None


def _holds_choices(data: DataProfile, name: str) -> bool:
    match data.columns[name]:
        case ListOf(Scalar("string")):
            return True
        case Struct(fields):
            return {"text", "label"} <= fields.keys()
        case _:
            return False


def read_choice(row: Mapping[str, Any], columns: ChoiceColumns) -> tuple[str, Sequence[str], int]:
    """Return the question of a row, its choices, and the number of the right one.

    >>> read_choice({"q": "2 + 2?", "choices": ["3", "4"], "answer": "B"}, ChoiceColumns("q", "choices", "answer"))
    ('2 + 2?', ['3', '4'], 1)

    Raises:
        ValueError: The row has no question, no choices, or none that is right; the message is for users.
    """
    question, given = row.get(columns.question), row.get(columns.choices)
    names = given["label"] if isinstance(given, Mapping) else None
    options = given["text"] if isinstance(given, Mapping) else given
    if not isinstance(question, str) or not isinstance(options, list) or len(options) < FEWEST:
        raise ValueError(f"it has no question, or fewer than two `{columns.choices}`")
    right = _number(row.get(columns.right), [str(each) for each in options], names)
    if right is None:
        raise ValueError(f"`{columns.right}` is {row.get(columns.right)!r:.40}, which names none of its choices")
    return question, [str(each) for each in options], right


def _number(value: Any, options: Sequence[str], names: Sequence[str] | None) -> int | None:
    """Return the number of the choice that a value names: by its own name, its text, its letter, or counted from 0."""
    text = str(value).strip()
    for known in (names, options):
        if known is not None and text in known:
            return list(known).index(text)
    number = ascii_uppercase.index(text) if len(text) == 1 and text in ascii_uppercase else None
    if number is None and text.isdecimal():
        number = int(text)
    return number if number is not None and number < len(options) else None
