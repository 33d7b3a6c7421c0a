"""Code blocks of documentation pages, as files whose lines have the numbers that they have on the page."""

import re
import textwrap
from collections.abc import Iterator
from typing import Final

FENCE: Final = re.compile(r"^(?P<margin>[ >]*)(?P<ticks>`{3,}|~{3,})\s*\{?(?P<language>\w*)")
SUFFIXES: Final = {"python": ".py", "py": ".py", "bash": ".sh", "sh": ".sh", "shell": ".sh"}
"""What a block is, by the language that its fence names."""
PROMPTS: Final = (">>>", "...")


def read_blocks(page: str) -> Iterator[tuple[str, str]]:
    r"""Yield each block that is a script or commands: its file's suffix, and its text below as many empty lines as precede it.

    >>> list(read_blocks("Text\n```python\nimport trl\n```\n"))
    [('.py', '\n\nimport trl\n')]
    """
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        at += 1
        if fence is None:
            continue
        first = at
        while at < len(lines) and not lines[at].lstrip(" >").startswith(fence["ticks"]):
            at += 1
        suffix = SUFFIXES.get(fence["language"].lower())
        if suffix:
            block = textwrap.dedent("\n".join(lines[first:at]))
            yield suffix, "\n" * first + "\n".join(_typed(block.split("\n"))) + "\n"
        at += 1


def _typed(lines: list[str]) -> list[str]:
    """Return a session at a prompt without the prompts and the answers; other blocks as they are."""
    if not any(line.startswith(PROMPTS[0]) for line in lines):
        return lines
    return [line[4:] if line.startswith(PROMPTS) else "" for line in lines]
