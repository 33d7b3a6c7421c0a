"""Readings of two answers to one prompt in columns with like names, and a column that names the better one."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast.catalog.formats.words import plain_name
from holdfast.engine.mapping.found import DataProfile, Uncertainty, cell
from holdfast.engine.mapping.known import compared
from holdfast.engine.mapping.readings import Reading
from holdfast.engine.script.python_source import render_literal

MARKS: Final = ("ab", "AB", "12", "01")
"""What parts the names of two columns: `response_a` and `response_b`."""
ANSWERED: Final = re.compile(r"response|answer|completion|output|reply|generation|candidate|summary", re.IGNORECASE)
WINNERS: Final = ("winner", "preference", "preferred", "better", "best", "choice", "chosen", "verdict", "selected", "label",
                  "preferred_response", "better_response", "preferred_answer", "better_answer", "human_preference")  # fmt: skip
TIES: Final = ("tie", "both", "neither", "none", "equal", "draw", "same", "both_bad", "tie (bothbad)")


def read_winners(data: DataProfile) -> Iterator[Reading]:
    """Yield a prompt with two answers, and by another column which is the better one."""
    for answers, marks in _pairs(data):
        both = " and ".join(f"`{name}`" for name in answers)
        names = [name for name in data.columns if plain_name(name) in WINNERS and name not in answers]
        if not names:
            yield Uncertainty(f"{both} are two answers, and no column says which is the better one")
        for name in names:
            spelled = _sides(data, name, marks)
            if spelled:
                first, second = spelled
                worse, unknown = _is_one_of(name, second), f"{cell(name)} not in {_listed((*first, *second))}"
                yield compared(data, answers, name, worse, unknown)
            else:
                yield Uncertainty(
                    f"{both} are two answers, and `{name}` does not surely name one of them: {data.describe_values(name)}"
                )


def _pairs(data: DataProfile) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield two columns whose names differ in a mark alone, of which there is no third."""
    for name in data.columns:
        for marks in MARKS:
            stem, mark = name[:-1], name[-1:]
            other = stem + marks[1]
            third = stem + chr(ord(marks[1]) + 1)
            if mark != marks[0] or other not in data.columns or third in data.columns or not ANSWERED.search(stem):
                continue
            if marks == "12" and f"{stem}0" in data.columns:
                continue
            if {data.forms[name], data.forms[other]} in ({"text"}, {"chat"}):
                yield (name, other), marks


def _sides(data: DataProfile, name: str, marks: str) -> tuple[tuple[str | int, ...], tuple[str | int, ...]] | None:
    """Return the values of a column that name the first answer, and those that name the second; None where some name neither."""
    sides: tuple[dict[str | int, None], dict[str | int, None]] = ({}, {})
    for value in data.values(name):
        if not isinstance(value, str | int) or isinstance(value, bool):
            return None
        last = re.split(r"[_\s-]", str(value).strip().lower())[-1]
        if last in (mark.lower() for mark in marks):
            sides[last == marks[1].lower()][value] = None
        elif str(value).strip().lower() not in TIES:
            return None
    return (tuple(sides[0]), tuple(sides[1])) if any(sides) else None


def _is_one_of(name: str, values: tuple[str | int, ...]) -> str:
    return f"{cell(name)} == {render_literal(values[0])}" if len(values) == 1 else f"{cell(name)} in {_listed(values)}"


def _listed(values: tuple[str | int, ...]) -> str:
    written = ", ".join(map(render_literal, values))
    return f"({written})" if len(values) > 1 else f"({written},)"
