"""A YAML document as a tree whose every node knows where it stands, and what its words mean.

Source: https://yaml.org/spec/1.2.2/#103-core-schema
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any

NULL = re.compile(r"~|null|Null|NULL|")
BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
DECIMAL = re.compile(r"[-+]?[0-9]{1,4000}")  # Python reads no more than 4,300 digits
OTHER_BASE = re.compile(r"0o[0-7]{1,4000}|0x[0-9a-fA-F]{1,3000}")  # as many as can be written in decimal
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
COLON = re.compile(r"\s*:")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without parts.

    Attributes:
        start: Offset of its first character, or of the place for one where nothing is written.
        end: Offset after its last.
        value: Text, number, true, false or None.
        style: The quote or block indicator it is written with; empty for a plain one.
    """

    start: int
    end: int
    value: str | float | bool | None
    style: str = ""

    @property
    def quote(self) -> str:
        """The quotes it is in; empty if in none."""
        return self.style if self.style in ("'", '"') else ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A mapping or a list.

    Attributes:
        start: Offset of its bracket, or of its first entry.
        end: Offset after its bracket, or after its last entry.
        children: By name, or by position in a list.
        is_list: Whether it is a list.
        flow: Whether it is written in brackets.
        column: Characters of its line before `start`.
    """

    start: int
    end: int
    children: "Mapping[str | int, Child]"
    is_list: bool
    flow: bool
    column: int


YamlNode = Leaf | Branch


@dataclass(frozen=True, slots=True)
class Child:
    """An entry of a mapping, with its key, or of a list, without."""

    key: Leaf | None
    node: YamlNode

    @property
    def start(self) -> int:
        """Offset of its first character; of a list's entry, the one after the dash."""
        return (self.key or self.node).start


def parse_plain(text: str) -> str | float | bool | None:
    """Return the value of a plain (unquoted) scalar.

    >>> [parse_plain(word) for word in ("2e-5", "0x10", "yes", "2024-01-01", "~")]
    [2e-05, 16, 'yes', '2024-01-01', None]
    """
    if NULL.fullmatch(text):
        return None
    if BOOLEAN.fullmatch(text):
        return text[0] in "tT"
    if DECIMAL.fullmatch(text):
        return int(text)
    if OTHER_BASE.fullmatch(text):
        return int(text, base=0)
    if FLOAT.fullmatch(text):
        return float(text)
    return float(text.replace(".", "")) if NOT_FINITE.fullmatch(text) else text


def value_of(node: YamlNode) -> Any:
    """Return the plain value a node stands for."""
    if isinstance(node, Leaf):
        return node.value
    values = {part: value_of(child.node) for part, child in node.children.items()}
    return list(values.values()) if node.is_list else values


def says(node: YamlNode, value: Any) -> bool:
    """True if a node stands for just this value: 1, 1.0 and true are three."""
    return dumps(value_of(node), sort_keys=True) == dumps(value, sort_keys=True, default=repr)


def after_colon(text: str, key: Leaf) -> int:
    """Return the offset behind the colon of a key, or behind the key if it has none, as in `{key}`."""
    colon = COLON.match(text, key.end)
    return colon.end() if colon else key.end
