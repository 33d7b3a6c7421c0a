"""What a script says of its environment: its header's requirements, with their places, and variables that it sets."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from holdfast.adapters.readers.script.values import Slot
from holdfast.core.environment.script_header import find_header, read_header
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Key, Unknown
from holdfast.core.text.places import LINE_BREAK, LineIndex, Place

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


@dataclass(frozen=True, slots=True)
class WrittenHeader:
    """A header as it is written.

    Attributes:
        path: The script.
        lines: Its lines.
        text: The header, with what makes its lines comments.
        begin: The offset at which it begins.
    """

    path: str
    lines: LineIndex
    text: str
    begin: int

    @classmethod
    def find(cls, script: str, path: str, header: str) -> "WrittenHeader":
        r"""Return where a header that stands in a script is written, whose lines end in `\n` but perhaps not there."""
        lines, first = LineIndex(script), header.partition("\n")[0]
        begin = next(start for start in lines.starts if script.startswith(first, start))
        return cls(path, lines, script[begin : begin + len(header) + header.count("\n")], begin)

    def place(self, start: int, end: int) -> Place:
        """Return the place of some of its characters."""
        return self.lines.place(self.path, self.begin + start, self.begin + end)

    def requirements(self, wanted: list[str]) -> dict[Key, Place]:
        """Return where each requirement is quoted, in order."""
        places: dict[Key, Place] = {}
        every = [found for found in re.finditer(QUOTED, self.text) if _readable(found[0])]
        texts, begin = [ast.literal_eval(found[0]) for found in every], 0
        for index, requirement in enumerate(wanted):
            at = next((at for at in range(begin, len(texts)) if texts[at] == requirement), None)
            if at is not None:
                places["environment", "requirements", index] = self.place(*every[at].span())
                begin = at + 1
        return places

    def python(self) -> dict[Key, Place]:
        """Return where the Python is quoted that it asks for."""
        found = re.search(f"{PYTHON_LINE}({QUOTED})", self.text)
        return {("environment", "python"): self.place(*found.span(1))} if found else {}


def _read_header(text: str, path: str, values: dict[str, Any], places: dict[Key, Place]) -> None:
    header = find_header(LINE_BREAK.sub("\n", text))
    if not header:
        return
    written = WrittenHeader.find(text, path, header)
    places["environment",] = written.place(0, len(header.partition("\n")[0]))
    try:
        table = read_header(header, path)
    except UsageError as error:
        values |= {"requirements": Unknown(error.what), "python": Unknown(error.what)}
        return
    wanted, python = table.get("dependencies"), table.get("requires-python")
    if _is_texts(wanted):
        values["requirements"] = wanted
        places |= written.requirements(wanted)
    if isinstance(python, str):
        values["python"] = python
        places |= written.python()


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _readable(literal: str) -> bool:
    try:
        ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return False
    return True
