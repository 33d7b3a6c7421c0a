"""What a script says of its environment: its header's requirements, with their places, and variables that it sets."""

import ast
import re
from collections.abc import Mapping
from typing import Any, Final

from holdfast.adapters.readers.script.values import Slot
from holdfast.core.document import Key, Unknown
from holdfast.core.errors import UsageError
from holdfast.core.script_header import find_header, read_header
from holdfast.core.text import LINE_BREAK, LineIndex, Place

PYTHON_LINE: Final = r"requires-python\s*=\s*"
QUOTED: Final = r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'"


def read_environment(
    text: str, path: str, variables: Mapping[str, Slot]
) -> tuple[dict[str, Any], dict[Key, Place], dict[Key, Place]]:
    """Return the content of `environment`, with the places of its values and of its keys."""
    values: dict[str, Any] = {}
    places: dict[Key, Place] = {}
    key_places: dict[Key, Place] = {}
    if "# /// script" in text:
        _read_header(text, path, values, places)
    if variables:
        values["variables"] = {name: slot.value for name, slot in variables.items()}
        under = ("environment", "variables")
        places |= {(*under, name): slot.place for name, slot in variables.items() if slot.place}
        key_places |= {(*under, name): slot.key_place for name, slot in variables.items() if slot.key_place}
    return values, places, key_places


def _read_header(text: str, path: str, values: dict[str, Any], places: dict[Key, Place]) -> None:
    header = find_header(LINE_BREAK.sub("\n", text))
    first = header.partition("\n")[0]
    if not header:
        return
    lines = LineIndex(text)
    begin = next(start for start in lines.starts if text.startswith(first, start))
    end = min(begin + len(header) + header.count("\n"), len(text))
    places["environment",] = lines.place(path, begin, begin + len(first))
    try:
        table = read_header(header, path)
    except UsageError as error:
        values |= {"requirements": Unknown(error.what), "python": Unknown(error.what)}
        return
    wanted = table.get("dependencies")
    if isinstance(wanted, list) and all(isinstance(each, str) for each in wanted):
        values["requirements"] = wanted
        _place_texts(wanted, text[begin:end], begin, (lines, path), places)
    if isinstance(table.get("requires-python"), str):
        values["python"] = table["requires-python"]
        found = re.search(f"{PYTHON_LINE}({QUOTED})", text[begin:end])
        if found:
            places["environment", "python"] = lines.place(path, begin + found.start(1), begin + found.end(1))


def _place_texts(
    wanted: list[str], header: str, begin: int, source: tuple[LineIndex, str], places: dict[Key, Place]
) -> None:
    """Find where each requirement is quoted, in order."""
    lines, path = source
    found = [(match, ast.literal_eval(match[0])) for match in re.finditer(QUOTED, header) if _readable(match[0])]
    position = 0
    for index, requirement in enumerate(wanted):
        for at in range(position, len(found)):
            match, text = found[at]
            if text == requirement:
                place = lines.place(path, begin + match.start(), begin + match.end())
                places["environment", "requirements", index] = place
                position = at + 1
                break


def _readable(literal: str) -> bool:
    try:
        ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return False
    return True
