"""The type of a column from its JSON values, as `datasets` decides it on the first 10 MB of a file.

Source: `datasets.packaged_modules.json`, `datasets.utils.json`, 5.2, and the JSON reader of pyarrow that it calls. Tried:
`tests/adapters/rows/test_rows_json.py` runs both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.adapters.rows.types import JSON
from holdfast.core.rows.columns import NULL, STRING, ListOf, Scalar, Struct, Type

LARGEST_INTEGER = (1 << 63) - 1
# What pyarrow takes for a point in time. A column of nothing else becomes one, even if it is text to everybody else.
TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d(:?\d\d(:?\d\d)?)?Z?)?")


@dataclass(slots=True)
class Guess:
    """What was seen of one value and its parts, over many rows.

    Attributes:
        kinds: Which kinds of values there were, null aside.
        keys: Of mappings, the names in the first.
        uneven: Whether another one had other names.
        parts: Of mappings, what was seen of each name, in the order in which they came up.
        item: Of lists, what was seen of their elements.
        size: How many values there are in it, with itself.
    """

    kinds: set[str] = field(default_factory=set[str])
    keys: frozenset[str] | None = None
    uneven: bool = False
    parts: "dict[str, Guess]" = field(default_factory=dict[str, "Guess"])
    item: "Guess | None" = None
    size: int = 1

    def see(self, value: Any) -> None:
        """Take in one more value."""
        match value:
            case None:
                return
            case dict():
                self._see_mapping(value)
            case list():
                self._see_list(value)
            case str():
                self._see_text(value)
            case _:
                self.kinds.add(_number(value))

    def _see_list(self, value: list[Any]) -> None:
        self.kinds.add("list")
        self.item = self.item or Guess()
        for element in value:
            self.item.see(element)
        self.size = 1 + self.item.size

    def _see_text(self, value: str) -> None:
        if "string" not in self.kinds:  # once that is known, a date more makes no difference
            self.kinds.add("time" if TIME.fullmatch(value) else "string")

    def _see_mapping(self, value: Mapping[str, Any]) -> None:
        self.kinds.add("struct")
        keys = value.keys()
        if self.keys is None:
            self.keys = frozenset(keys)
        elif keys != self.keys:
            self.uneven = True
        for name, part in value.items():
            if (known := self.parts.get(name)) is None:
                known = self.parts[name] = Guess()
                self.size += 1
            before = known.size
            known.see(part)
            self.size += known.size - before

    def columns(self, *, strict: bool) -> dict[str, Type]:
        """Return the types of the columns, of a guess that saw rows; `strict` as in `type`."""
        return {name: part.type(strict=strict) for name, part in self.parts.items()}

    def type(self, *, strict: bool) -> Type:
        """Return the type of what was seen.

        Args:
            strict: Whether mappings with different names are different types, as they are to `datasets` where each line
                of the file is a row; else they are one type with all of those names, as they are to pyarrow.
        """
        kinds = self.kinds
        if not kinds:
            return NULL
        if kinds == {"struct"}:
            return JSON if strict and (self.uneven or not self.keys) else Struct(self.columns(strict=strict))
        if kinds == {"list"}:
            return ListOf(self.item.type(strict=strict) if self.item else NULL)
        return _scalar(kinds)

    def mixed(self, path: str = "") -> str | None:
        """Return where values differ in type, `messages[].content`, or None if they do nowhere."""
        if len(self.kinds) > 1 and not _alike(self.kinds):
            return path
        inner = [part.mixed(f"{path}.{name}" if path else name) for name, part in self.parts.items()]
        inner.append(self.item.mixed(f"{path}[]") if self.item else None)
        return next((found for found in inner if found is not None), None)


def _number(value: bool | float) -> str:  # noqa: FBT001 - it is the value, not a switch
    if isinstance(value, bool):
        return "boolean"
    return "integer" if isinstance(value, int) and abs(value) <= LARGEST_INTEGER else "float"


def _alike(kinds: set[str]) -> bool:
    return kinds <= {"integer", "float"} or kinds <= {"string", "time"}


def _scalar(kinds: set[str]) -> Type:
    if len(kinds) == 1 and kinds < {"string", "time", "boolean", "integer", "float"}:
        return _SCALARS[next(iter(kinds))]
    if kinds == {"integer", "float"}:
        return _SCALARS["float"]
    return STRING if kinds == {"string", "time"} else JSON


_SCALARS = {
    "string": STRING,
    "time": Scalar("time"),
    "boolean": Scalar("boolean"),
    "integer": Scalar("integer"),
    "float": Scalar("float"),
}
