"""YAML in the many ways people write it, made by hypothesis: a text, and the values it stands for."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

NAMES = ["train", "peft", "a b", "über", "x:y", "0", "it's", "max_length", "e", "#1", "-x"]
WORDS = [
    "adam",
    "q_proj",
    "a b",
    "2e-5",
    "yes",
    "null",
    "",
    "x: y",
    "# no note",
    "it's",
    '"',
    "[a",
    "😀",
    "1",
    "a\nb",
    "\t",
]
PLAIN = re.compile(r"(?!(true|false|null|e)$)[a-z_]+( [a-z_]+)*")
UNQUOTED_LINES = re.compile(r"[^\s].*[^\s]|[^\s]")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**6),
    st.floats(allow_nan=False),
    st.sampled_from(WORDS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
values = st.recursive(
    scalars,
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(NAMES), parts, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from(NAMES), values, min_size=1, max_size=4)


class _Writer:
    """Writes values as YAML; style, quotes, comments, blank lines and indentation are drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.notes = 0

    def choose(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def note(self) -> str:
        """Return a comment that stands nowhere else."""
        self.notes += 1
        return f"# note {self.notes}."

    def scalar(self, value: Any) -> str:
        if value is None:
            return self.choose("null", "~")
        if not isinstance(value, str):
            return json.dumps(value).replace("Infinity", ".inf")
        escaped = "".join(
            character if character.isprintable() else f"\\U{ord(character):08x}"
            for character in value.replace("\\", "\\\\").replace('"', '\\"')
        )
        single = "'" + value.replace("'", "''") + "'" if value.isprintable() else f'"{escaped}"'
        return self.choose(f'"{escaped}"', single, value if PLAIN.fullmatch(value) else single)

    def gap(self, indent: int, least: str = "") -> str:
        return self.choose(least, least, " ", f"  {self.note()}\n{' ' * indent}", f"\n{' ' * indent}")

    def flow(self, value: Any, indent: int) -> str:
        """Return a value in brackets, perhaps over several lines."""
        if not isinstance(value, (dict, list)):
            return self.scalar(value)
        inner = indent + 2
        if isinstance(value, dict):
            parts = [f"{self.scalar(name)}: {self.flow(part, inner)}" for name, part in value.items()]
        else:
            parts = [self.flow(part, inner) for part in value]
        text = "".join(f"{',' + self.gap(inner, ' ') if number else ''}{part}" for number, part in enumerate(parts))
        comma = self.choose("", ",") if parts else ""
        start, end = "{}" if isinstance(value, dict) else "[]"
        return f"{start}{self.gap(inner)}{text}{comma}{self.gap(indent)}{end}"

    def mapping(self, value: Mapping[str, Any], indent: int, *, compact: bool = False) -> list[str]:
        lines: list[str] = []
        for name, part in value.items():
            if lines or not compact:
                above = self.choose("", "", "\n", f"{' ' * indent}{self.note()}\n", f"\n{self.note()}\n")
                lines += above.split("\n")[:-1]
            lines += self.entry(" " * indent + self.scalar(name) + ":", part, indent)
        return lines

    def sequence(self, value: list[Any], indent: int) -> list[str]:
        lines: list[str] = []
        for part in value:
            if isinstance(part, dict) and part and self.choose("compact", "not"):
                below = self.mapping(part, indent + 2, compact=True)
                lines += [f"{' ' * indent}- {below[0].lstrip()}", *below[1:]]
            else:
                lines += self.entry(" " * indent + "-", part, indent)
        return lines

    def entry(self, head: str, value: Any, indent: int) -> list[str]:
        """Return the lines of a value under a key, or after a dash."""
        tail = self.choose("", "", f"  {self.note()}")
        style = self.choose("flow", "block", "block")
        if value and style == "block" and isinstance(value, dict):
            return [head + tail, *self.mapping(value, indent + len(self.choose("  ", "    ")))]
        if value and style == "block" and isinstance(value, list):
            in_list = head.endswith("-")
            return [head + tail, *self.sequence(value, indent + len(self.choose("  ", "  " if in_list else "")))]
        if value is None and style == "block":
            return [head + tail]
        if style == "block" and isinstance(value, str):
            lines = value.split("\n")
            if all(line.isprintable() and UNQUOTED_LINES.fullmatch(line) for line in lines):
                return [f"{head} |-{tail}", *(" " * (indent + 2) + line for line in lines)]
        return f"{head} {self.flow(value, indent)}{tail}".split("\n")


@st.composite
def job_texts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a text and the values it stands for."""
    writer = _Writer(draw)
    job = draw(mappings)
    above = writer.choose("", "", f"{writer.note()}\n\n", "---\n", "\ufeff").split("\n")
    below = writer.choose("", "\n", f"\n{writer.note()}", f"\n\n{writer.note()}\n").split("\n")
    lines = [*above[:-1], *writer.mapping(job, 0), *below[1:]]
    newline = writer.choose("\n", "\n", "\r\n")
    return above[-1] + newline.join(lines), job
