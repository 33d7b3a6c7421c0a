"""Multiple choice: which columns hold the question, the choices and the right one.

Source: the cards of cais/mmlu (and its original CSV files), allenai/ai2_arc, Rowan/hellaswag, tau/commonsense_qa, openlifescienceai/medmcqa,
pkavumba/balanced-copa, allenai/winogrande and ybisk/piqa.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final

from holdfast.core.rows.columns import ListOf, Scalar, Struct
from holdfast.core.text.json_text import parse_json
from holdfast.engine.mapping.found import ColumnReading, DataProfile
from holdfast.engine.mapping.readings import find_request

CHOICES: Final = ("choices", "options", "endings", "answer_choices")
RIGHT: Final = (
    *("answer", "answerKey", "answer_key", "label", "correct"),
    *("gold", "target", "correct_answer", "answer_idx"),
)
OPENINGS: Final = ("ctx", "context", "premise", "sentence", "goal")
"""Names of a text that a choice continues, or answers."""
FEWEST: Final = 2
ONE_EACH: Final = re.compile(r"(?:(?:choice|option|answer|ending|sol|op)[ _-]?)?(?P<name>[a-j]|\d)", re.IGNORECASE)
"""The name of a column that holds one choice: `B`, `option_b`, `choice2`, `opb`."""


@dataclass(frozen=True, slots=True)
class ChoiceColumns:
    """The columns of multiple choice.

    Attributes:
        question: The question, or the text that a choice continues.
        choices: The choices: a column of lists, or a column for each.
        right: Which of them is right.
        names: What the column of the right one calls them; None if it counts them from 0, or has their texts or letters.
    """

    question: str
    choices: str | tuple[str, ...]
    right: str
    names: tuple[str, ...] | None = None


def find_choices(data: DataProfile) -> ChoiceColumns | None:
    """Return the columns of multiple choice; None if there is none."""
    right = next((name for name in RIGHT if name in data.columns), None)
    choices = _listed(data) or _one_each(data)
    if right is None or not choices:
        return None
    question = _question(data, besides=(right, *choices))
    if question is None:
        return None
    found = ChoiceColumns(question, choices, right, _names(data, choices, right))
    return found if _fits(data, found) else None


def _listed(data: DataProfile) -> str | None:
    """Return the column that holds lists of choices."""
    return next((name for name in CHOICES if _holds_choices(data, name)), None)


def _question(data: DataProfile, *, besides: tuple[str, ...]) -> str | None:
    """Return the column of the question, or of the text that a choice continues."""
    request = find_request(data, besides=besides)
    if isinstance(request, ColumnReading):
        return request.needs[0]
    return next((name for name in OPENINGS if data.forms.get(name) == "text"), None)


def _right_ones(data: DataProfile, right: str) -> set[str]:
    """Return how the samples call the right choice, in small letters."""
    return {str(each).strip().lower() for each in data.values(right)}


def _holds_choices(data: DataProfile, name: str) -> bool:
    match data.columns.get(name):
        case ListOf(Scalar("string")):
            return True
        case Struct(fields):
            return {"text", "label"} <= fields.keys()
        case Scalar("string"):  # a list in a CSV file
            values = data.values(name)
            return bool(values) and all(_is_list(_unpacked(each)) for each in values)
        case _:
            return False


def _unpacked(value: Any) -> Any:
    """Return a list that is written as JSON; anything else as it is."""
    try:
        return parse_json(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _one_each(data: DataProfile) -> tuple[str, ...]:
    """Return the columns that hold a choice each, in their order; none if they do not follow one another."""
    found = {name: match["name"].lower() for name in data.columns if (match := ONE_EACH.fullmatch(name))}
    columns = sorted(
        (name for name in found if data.forms.get(name) in ("text", "number")), key=lambda name: found[name]
    )
    called = "".join(found[name] for name in columns)
    follows = any(called == order[: len(called)] for order in (ascii_lowercase, digits, digits[1:]))
    return tuple(columns) if len(columns) >= FEWEST and follows else ()


def _fits(data: DataProfile, columns: ChoiceColumns) -> bool:
    """True if the right one of each sample is one of its choices; of choices that are numbers, by its letter."""
    if isinstance(columns.choices, str):
        return True
    are_numbers = any(data.forms.get(name) == "number" for name in columns.choices)
    if are_numbers and not _right_ones(data, columns.right) <= set(columns.names or ()):
        return False
    return _names_a_choice(data, columns)


def _names_a_choice(data: DataProfile, columns: ChoiceColumns) -> bool:
    """True if each sample that says which choice is right names one."""
    try:
        return all(read_choice(row, columns) for row in data.samples if row.get(columns.right) is not None)
    except ValueError:
        return False


def _names(data: DataProfile, choices: str | tuple[str, ...], right: str) -> tuple[str, ...] | None:
    """Return what the column of the right one calls choices; None if it counts them from 0, or has their texts."""
    if isinstance(choices, str):
        return None
    called = tuple(name[-1].lower() for name in choices)
    counts_from_1 = called[0] == "1" and "0" not in _right_ones(data, right)
    return called if called[0] == "a" or counts_from_1 else None


def read_choice(row: Mapping[str, Any], columns: ChoiceColumns) -> tuple[str, Sequence[str], int]:
    """Return the question of a row, its choices, and the number of the right one.

    >>> read_choice({"q": "2 + 2?", "choices": ["3", "4"], "answer": "B"}, ChoiceColumns("q", "choices", "answer"))
    ('2 + 2?', ['3', '4'], 1)

    Raises:
        ValueError: The row has no question, no choices, or none that is right; the message is for users.
    """
    question, given, names = row.get(columns.question), _given(row, columns.choices), columns.names
    options = given
    if isinstance(given, Mapping):
        names, options = given["label"], given["text"]
    if not isinstance(question, str) or not isinstance(options, list) or len(options) < FEWEST:
        called = columns.choices if isinstance(columns.choices, str) else ", ".join(columns.choices)
        raise ValueError(f"it has no question, or fewer than two `{called}`")
    right = _number(row.get(columns.right), [str(each) for each in options], names)
    if right is None:
        raise ValueError(f"`{columns.right}` is {row.get(columns.right)!r:.40}, which names none of its choices")
    return question, [str(each) for each in options], right


def _given(row: Mapping[str, Any], choices: str | tuple[str, ...]) -> Any:
    """Return the choices of a row; of columns that hold one each, those that are not empty at the end."""
    if isinstance(choices, str):
        return _unpacked(row.get(choices))
    values = [row.get(name) for name in choices]
    while values and values[-1] in (None, ""):
        values.pop()
    return values if None not in values else None


def _number(value: Any, options: Sequence[str], names: Sequence[str] | None) -> int | None:
    """Return the number of the choice that a value names: by its own name, its text, its letter, or counted from 0."""
    text = str(value).strip()
    for known, wanted in ((names, text), (names, text.lower()), (options, text)):
        if known is not None and wanted in known:
            return list(known).index(wanted)
    number = _counted(text)
    return number if number is not None and number < len(options) else None


def _counted(text: str) -> int | None:
    """Return the number that a capital letter or a number stands for, from 0 on."""
    if len(text) == 1 and text in ascii_uppercase:
        return ascii_uppercase.index(text)
    return int(text) if text.isdecimal() else None
