"""Multiple choice: which columns hold the question, the choices and the right one.

Source: the cards of cais/mmlu (and its original CSV files), allenai/ai2_arc, Rowan/hellaswag, tau/commonsense_qa, openlifescienceai/medmcqa,
pkavumba/balanced-copa, allenai/winogrande and ybisk/piqa. A whole number counts the choices from 0, and a text that is a choice is that
choice, as in lm-eval (`ConfigurableTask.process_results`, 0.4.13).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final, Literal

from holdfast.core.rows.columns import ListOf, Scalar, Struct
from holdfast.core.text.json_text import parse_json
from holdfast.core.text.numbers import is_whole
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
MOST_DIGITS: Final = 9
"""Of a number that counts choices; Python reads no number of more than 4,300."""
NEARLY_ALL: Final = 0.99
"""The share of rows that name a choice in one way where others are slips."""
MIXED: Final = "different ways: in some rows by its text, in others by its letter, or its number from 0. Write its text, or its number, in all"
ONE_EACH: Final = re.compile(r"(?:(?:choice|option|answer|ending|sol|op)[ _-]?)?(?P<name>[a-j]|\d)", re.IGNORECASE)
"""The name of a column that holds one choice: `B`, `option_b`, `choice2`, `opb`."""
ChoiceNaming = Literal["name", "text", "letter", "number"]
"""How a value says which choice is right: by the choice's own name, its text, its letter, or its number, counted from 0."""
OF_TEXTS: Final[tuple[ChoiceNaming, ...]] = ("name", "text", "letter", "number")
OF_NUMBERS: Final[tuple[ChoiceNaming, ...]] = ("name", "number", "text")
"""How whole numbers do: where both fit, a number counts the choices."""
Named = tuple[Any, Sequence[str], Sequence[str] | None]
"""A value that says which choice is right, the texts of the choices, and their names."""


@dataclass(frozen=True, slots=True)
class ChoiceColumns:
    """The columns of multiple choice.

    Attributes:
        question: The question, or the text that a choice continues.
        choices: The choices: a column of lists, or a column for each.
        right: Which of them is right.
        names: What the column of the right one calls them; None if it counts them from 0, or has their texts or letters.
        namings: How the column says which is right, the surest first; none if its rows differ.
        first: The number of the first choice, where numbers count them.
    """

    question: str
    choices: str | tuple[str, ...]
    right: str
    names: tuple[str, ...] | None = None
    namings: tuple[ChoiceNaming, ...] = OF_TEXTS
    first: int = 0


def find_choices(data: DataProfile, rows: Iterable[Mapping[str, Any]]) -> ChoiceColumns | None:
    """Return the columns of multiple choice; None if there is none.

    Args:
        data: The dataset.
        rows: The rows that decide how the column of the right one names it: one way for all of them.
    """
    right = next((name for name in RIGHT if name in data.columns), None)
    choices = _listed(data) or _one_each(data)
    if right is None or not choices:
        return None
    question = _question(data, besides=(right, *choices))
    if question is None:
        return None
    found = ChoiceColumns(question, choices, right, _names(data, choices, right))
    return _named_as_in(rows, found) if _fits(data, found) else None


def _named_as_in(rows: Iterable[Mapping[str, Any]], columns: ChoiceColumns) -> ChoiceColumns:
    """The columns, with the way in which the rows name the right choice."""
    read = [(value, *_options(row, columns)) for row in rows if (value := row.get(columns.right)) is not None]
    if _count_from_1([each for each in read if each[1]]):
        return replace(columns, namings=("number",), first=1)
    return replace(columns, namings=_namings(read))


def _count_from_1(read: Sequence[Named]) -> bool:
    """Numbers of which none is 0, and some are that of the last choice; those that are themselves names or texts count nothing."""
    counts = [(_counted(str(value).strip()), len(options)) for value, options, _ in read]
    if not all(count is not None and 0 < count <= many for count, many in counts):
        return False
    named = sum(not {"name", "text"}.isdisjoint(_numbers(*each)) for each in read)
    return named < NEARLY_ALL * len(read) and any(count == many for count, many in counts)


def _namings(read: Sequence[Named]) -> tuple[ChoiceNaming, ...]:
    """Return the ways in which a column names a choice in all of its rows that do, the surest first; else the one of nearly all."""
    fitting = [found for each in read if (found := _numbers(*each))]
    order = OF_NUMBERS if all(is_whole(value) for value, _, _ in read) else OF_TEXTS
    fits_all = tuple(each for each in order if all(each in found for found in fitting))
    return fits_all or _nearly_all(order, fitting)


def _nearly_all(
    order: Iterable[ChoiceNaming], fitting: Sequence[Mapping[ChoiceNaming, int]]
) -> tuple[ChoiceNaming, ...]:
    """The way in which nearly all rows name a choice, as slips are few; none if their ways differ."""
    named = {each: sum(each in found for found in fitting) for each in order}
    most = max(named, key=lambda each: named[each])
    return (most,) if named[most] >= NEARLY_ALL * len(fitting) else ()


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
    question = row.get(columns.question)
    options, names = _options(row, columns)
    if not isinstance(question, str) or len(options) < FEWEST:
        called = columns.choices if isinstance(columns.choices, str) else ", ".join(columns.choices)
        raise ValueError(f"it has no question, or fewer than two `{called}`")
    if not columns.namings:
        raise ValueError(f"`{columns.right}` names the right choice in {MIXED}")
    found = _numbers(row.get(columns.right), options, names, columns.first)
    right = next((found[naming] for naming in columns.namings if naming in found), None)
    if right is None:
        how = " in the way that nearly all rows do" if found else ""
        raise ValueError(f"`{columns.right}` is {row.get(columns.right)!r:.40}, which names none of its choices{how}")
    return question, options, right


def unnamed_choice(row: Mapping[str, Any], columns: ChoiceColumns) -> str:
    """Why a row has no right choice to be its answer, for users; empty if it has, or if it has a text that is an answer itself."""
    try:
        read_choice(row, columns)
    except ValueError as error:
        return "" if columns.namings and _is_an_answer(row.get(columns.right)) else str(error)
    return ""


def _is_an_answer(value: Any) -> bool:
    """A text that is more than a letter or a number, as which one is hidden or names no choice."""
    text = value.strip() if isinstance(value, str) else ""
    return len(text) > 1 and not text.lstrip("-").isdecimal()


def with_right_text(row: Mapping[str, Any], columns: ChoiceColumns) -> Mapping[str, Any]:
    """Return a row with the text of its right choice as its answer; a letter stays one if the question shows all choices."""
    try:
        question, options, right = read_choice(row, columns)
    except ValueError:
        return row
    letter = str(row[columns.right]).strip().upper()
    if letter in [*ascii_uppercase] and all(each in question for each in options):
        return row
    return {**row, columns.right: options[right]}


def _options(row: Mapping[str, Any], columns: ChoiceColumns) -> tuple[list[str], Sequence[str] | None]:
    """Return the texts of a row's choices, none if it has none, and their names."""
    given, names = _given(row, columns.choices), columns.names
    if isinstance(given, Mapping):
        names, given = given["label"], given["text"]
    return [str(each) for each in given] if isinstance(given, list) else [], names


def _given(row: Mapping[str, Any], choices: str | tuple[str, ...]) -> Any:
    """Return the choices of a row; of columns that hold one each, those that are not empty at the end."""
    if isinstance(choices, str):
        return _unpacked(row.get(choices))
    values = [row.get(name) for name in choices]
    while values and values[-1] in (None, ""):
        values.pop()
    return values if None not in values else None


def _numbers(
    value: Any, options: Sequence[str], names: Sequence[str] | None, first: int = 0
) -> dict[ChoiceNaming, int]:
    """Return the number of the choice that a value names, by each way in which it names one."""
    text = str(value).strip()
    name = next((each for each in (text, text.lower()) if each in (names or ())), None)
    found: dict[ChoiceNaming, int | None] = {
        "name": None if name is None else list(names or ()).index(name),
        "text": options.index(text) if text in options else None,
        "letter": ascii_uppercase.index(text) if len(text) == 1 and text in ascii_uppercase else None,
        "number": None if (counted := _counted(text)) is None else counted - first,
    }
    return {each: number for each, number in found.items() if number is not None and 0 <= number < len(options)}


def _counted(text: str) -> int | None:
    """The number that a text is; None if it is none, or too large to count choices."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None
