"""Markdown for a terminal: paragraphs are filled, headings are bold, and code stays as it is."""

import re
from collections.abc import Iterator
from textwrap import fill
from typing import Final

from click import style

WIDTH: Final = 100
FENCE: Final = "```"
ITEM: Final = re.compile(r"\s*(?:[-*]|\d+\.) ")


def render_markdown(text: str, width: int = WIDTH) -> str:
    r"""Return Markdown with lines of a terminal's width.

    >>> print(render_markdown("one\ntwo\n\n- an item\n  of two lines"))
    one two
    <BLANKLINE>
    - an item of two lines
    """
    return "\n".join(line for block in _blocks(text.strip("\n")) for line in _render_block(block, width))


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each heading, paragraph, item of a list, and block of code; an empty line is a block too."""
    block: list[str] = []
    for line in text.split("\n"):
        in_code = bool(block) and block[0].startswith(FENCE) and (len(block) == 1 or block[-1] != FENCE)
        if block and not in_code and not _goes_on(block, line):
            yield block
            block = []
        block.append(line)
    yield block


def _goes_on(block: list[str], line: str) -> bool:
    """True if a line continues the text above it."""
    is_text = block[0] and not block[0].startswith(("#", FENCE))
    return bool(is_text and line) and not line.startswith(("#", FENCE)) and not ITEM.match(line)


def _render_block(block: list[str], width: int) -> list[str]:
    first = block[0]
    if first.startswith(FENCE) or not first:
        return block
    if first.startswith("#"):
        return [style(first, bold=True)]
    item = ITEM.match(first)
    words = " ".join(line.strip() for line in block)
    begin = first[: len(first) - len(first.lstrip())]
    after = " " * len(item[0]) if item else begin
    return fill(
        words, width, initial_indent=begin, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    ).split("\n")
