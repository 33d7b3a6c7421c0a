"""Edits of the requirements in a script's header: TOML within comments, of which all else stays to the letter.

Covered: `dependencies` on one line or several, with comments, in either kind of quotes, or not there at all.
Not covered: a script without a header; a `dependencies` that is not a list of strings.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from holdfast.core.environment.script_header import BLOCK
from holdfast.core.text.places import LineIndex, TextEdit
from holdfast.core.text.toml_text import parse_toml

DEPENDENCIES: Final = re.compile(
    r"^[ \t]*(?:dependencies|\"dependencies\"|'dependencies')[ \t]*=[ \t]*(?P<open>\[)", re.MULTILINE
)
PYTHON: Final = re.compile(r"^requires-python[ \t]*=.*$", re.MULTILINE)
TOKEN: Final = re.compile(r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')|(?P<comment>#[^\n]*)|(?P<mark>[\[\],])")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a script.

    Attributes:
        script: The script.
        toml: What its comments say, without what makes them comments.
        offsets: Where each character of the TOML stands in the script; its end last.
    """

    script: str
    toml: str
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, script: str) -> "Header | None":
        """Return the header of a script, or None if it has none."""
        found = BLOCK.search(script)
        if found is None:
            return None
        letters: list[str] = []
        offsets: list[int] = []
        at = found.start("content")
        for line in found["content"].splitlines(keepends=True):
            begin = at + (2 if line.startswith("# ") else 1)
            said = line[begin - at :].rstrip("\r\n") + "\n"
            letters.append(said)
            offsets += range(begin, begin + len(said))
            at += len(line)
        return cls(script, "".join(letters), (*offsets, at))

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.script else "\n"

    def edit(self, start: int, end: int, text: str) -> TextEdit:
        """Return the replacement of some of the TOML; its line ends become those of comments."""
        lines = LineIndex(self.script)
        span = lines.position(self.offsets[start]), lines.position(self.offsets[end])
        return TextEdit(*span, text.replace("\n", f"{self.newline}# "))


def edit_requirements(script: str, wanted: Sequence[str]) -> tuple[TextEdit, ...] | None:
    r"""Return the edits that make a script's header ask for these requirements; None if they cannot be made.

    >>> edit_requirements('# /// script\n# dependencies = ["trl"]\n# ///\n', ["trl", "peft"])[0].text
    ', "peft"'
    """
    header = Header.of(script)
    if header is None:
        return None
    changes = _changes_to(header.toml, list(wanted))
    return None if changes is None else tuple(header.edit(*change) for change in changes)


Change = tuple[int, int, str]


def _loads(toml: str) -> dict[str, Any] | None:
    try:
        return parse_toml(toml)
    except tomllib.TOMLDecodeError:
        return None


def _applied(toml: str, changes: Sequence[Change]) -> str:
    for start, end, text in sorted(changes, reverse=True):
        toml = toml[:start] + text + toml[end:]
    return toml


def _changes_to(toml: str, wanted: list[str]) -> list[Change] | None:
    """Return the changes by which TOML lists these requirements, and nothing else changes; None if there are none."""
    table = _loads(toml)
    listed = table.get("dependencies", []) if table is not None else None
    if table is None or not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        return None
    meant = {**table, "dependencies": wanted}
    ways = _ways(toml, listed, wanted, new_list="dependencies" not in table)
    return next((changes for changes in ways if _loads(_applied(toml, changes)) == meant), None)


def _ways(toml: str, old: list[str], new: list[str], *, new_list: bool) -> Iterator[list[Change]]:
    """Yield ways to change one list of requirements into another, the gentlest first: text by text, or as a whole."""
    array = Array.of(toml)
    if new_list:
        yield [_listed(toml, new)]
    else:
        yield list(_changes(array, old, new))
    if array and not array.remarked:
        yield [(array.start, array.end, ", ".join(map(_quoted, new)))]


def _changes(array: "Array | None", old: list[str], new: list[str]) -> Iterator[Change]:
    """Yield the replacements in the TOML that turn one list of requirements into another."""
    if array is None or len(array.items) != len(old):
        return
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from array.exchanged(start, end, new[first:last])


def _listed(toml: str, new: list[str]) -> Change:
    """Return where a list goes that was not there: below the Python that the script needs, else on top."""
    line = f"dependencies = [{', '.join(map(_quoted, new))}]"
    python = PYTHON.search(toml.partition("\n[")[0])
    return (python.end(), python.end(), f"\n{line}") if python else (0, 0, f"{line}\n")


@dataclass(frozen=True, slots=True)
class Array:
    """The list of requirements, as it is written.

    Attributes:
        toml: The text that it stands in.
        start: Where it begins, behind its bracket.
        end: Where its closing bracket stands.
        items: Where each text in it begins and ends, quotes included.
        commas: Where the comma after each stands; None if there is none.
        remarked: Whether comments stand in it.
    """

    toml: str
    start: int
    end: int
    items: tuple[tuple[int, int], ...]
    commas: tuple[int | None, ...]
    remarked: bool

    @classmethod
    def of(cls, toml: str) -> "Array | None":
        """Find the list in a header; None if it is written in a way that is not understood."""
        found = DEPENDENCIES.search(toml)
        if found is None:
            return None
        items: list[tuple[int, int]] = []
        commas: dict[int, int] = {}
        remarked = False
        for token in TOKEN.finditer(toml, found.end("open")):
            if token["text"]:
                items.append(token.span())
            elif token["comment"]:
                remarked = True
            elif token["mark"] == ",":
                commas[len(items) - 1] = token.start()
            elif token["mark"] == "]":
                every = tuple(commas.get(index) for index in range(len(items)))
                return cls(toml, found.end("open"), token.start(), tuple(items), every, remarked)
            else:
                return None
        return None

    def exchanged(self, start: int, end: int, new: Sequence[str]) -> Iterator[Change]:
        """Yield the changes that put other texts in the place of some."""
        paired = min(end - start, len(new))
        for index in range(paired):
            yield self.replaced(start + index, new[index])
        if start + paired < end:
            yield from self.without(start + paired, end)
        if paired < len(new):
            yield from self.added(end, new[paired:])

    def replaced(self, at: int, new: str) -> Change:
        """Return the change of one text, quoted as before."""
        start, end = self.items[at]
        return start, end, _quoted(new, self.toml[start])

    def without(self, first: int, last: int) -> Iterator[Change]:
        """Yield the changes that remove texts up to `last`: with their lines, where they have lines of their own."""
        start, end = self._line_start(first), self._line_end(last - 1)
        if self._tall and start is not None and end is not None:
            yield start, end, ""
        elif last < len(self.items):
            yield self.items[first][0], self.items[last][0], ""
        elif first:
            yield self.items[first - 1][1], self.items[last - 1][1], ""
        else:
            comma = self.commas[-1]
            yield self.items[0][0], self.items[-1][1] if comma is None else comma + 1, ""

    def added(self, at: int, new: Sequence[str]) -> Iterator[Change]:
        """Yield the changes that add texts before the one at an index."""
        if not self.items:
            yield self.start, self.start, ", ".join(map(_quoted, new))
            return
        texts = [_quoted(each, self.toml[self.items[-1][0]]) for each in new]
        if at < len(self.items):
            start, gap = self.items[at][0], self._indent(at) if self._tall else " "
            yield start, start, f",{gap}".join((*texts, ""))
        elif self._tall:
            yield from self._added_below(texts)
        else:
            end = self.items[-1][1]
            yield end, end, ", ".join(("", *texts))

    def _added_below(self, texts: Sequence[str]) -> Iterator[Change]:
        """Yield the same at the end of a list of several lines: behind the comment of the last."""
        end, comma = self.items[-1][1], self.commas[-1]
        if comma is None:
            yield end, end, ","
        remark = re.compile(r"[ \t]*#[^\n]*").match(self.toml, end if comma is None else comma + 1)
        at = remark.end() if remark else end if comma is None else comma + 1
        below = f",{self._indent(-1)}".join(texts)
        yield at, at, f"{self._indent(-1)}{below}{',' if comma is not None else ''}"

    @property
    def _tall(self) -> bool:
        """Whether it is written in several lines."""
        return "\n" in self.toml[self.start : self.items[0][0]] if self.items else False

    def _indent(self, at: int) -> str:
        """Return a line end with the spaces that a text has before it, or its predecessor where it shares a line."""
        line = self.toml.rindex("\n", 0, self.items[at][0]) + 1
        return "\n" + " " * (len(self.toml[line:]) - len(self.toml[line:].lstrip(" ")))

    def _line_start(self, at: int) -> int | None:
        """Return where a text's line begins, unless another text stands before it there."""
        line = self.toml.rfind("\n", 0, self.items[at][0]) + 1
        return None if self.toml[line : self.items[at][0]].strip() else line

    def _line_end(self, at: int) -> int | None:
        """Return where the next line begins, unless another text or the bracket stands behind a text."""
        end = self.toml.find("\n", self.items[at][1]) + 1
        behind = self.toml[self.items[at][1] : end].strip().removeprefix(",").strip()
        return None if behind and not behind.startswith("#") else end


def _quoted(text: str, quote: str = '"') -> str:
    """Return a text as TOML writes it, in the given quotes if they can hold it."""
    if quote == "'" and "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)
