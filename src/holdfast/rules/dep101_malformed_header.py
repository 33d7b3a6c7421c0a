"""Script header that uv refuses to parse.

## What it does
Checks the comment block in which a script declares its dependencies (PEP 723) for a block that is not closed, a
second block, invalid TOML, and entries of the wrong type.

## Why is this bad
`uv run` ends before it creates an environment. The usual causes are a comment line without a space after its `#`, an
empty line in the middle, and a number where a version must be text.

## Fix safety
There is no automatic fix: only you know what you meant.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.notebook import is_notebook
from holdfast.core.text.places import Place
from holdfast.core.text.toml_text import parse_toml

OPENING, CLOSING = "# /// script", "# ///"
# A requirement whose comparison is spelled as no tool spells it: `trl=>1.0`, `trl=1.0`.
MISSPELLED = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[^\]]*\])?\s*(=>|=<|=(?!=))")
COMPARISON = re.compile(r"\s*(==|>=|<=|!=|~=|>|<|$)")


@dataclass(frozen=True)
class CommentBlock:
    """One block of comments: the numbers of its first and last line, and the text between; None where it is open."""

    first: int
    last: int
    content: str | None


def check(job: Document) -> Iterator[Finding]:
    """Report the first error at which uv stops parsing the header."""
    blocks = [] if job.kind != "script" or is_notebook(job.path) else list(_blocks(job.text.splitlines()))
    if not blocks:
        return
    if fault := _fault(blocks[0].content):
        yield _at(job, blocks[0].first, f"the script header cannot be read: {fault}")
    elif blocks[1:]:
        yield _at(job, blocks[1].first, "a second script header: a script has one, so put both into it")


def _blocks(lines: list[str]) -> Iterator[CommentBlock]:
    """Yield each header, as far as its lines are comments."""
    index = 0
    while index < len(lines):
        start, index = index, index + 1
        if lines[start] == OPENING:
            inside = list(takewhile(_is_comment, lines[index:]))
            index += len(inside)
            yield CommentBlock(start + 1, index, _content(inside))


def _is_comment(line: str) -> bool:
    return line == "#" or line.startswith("# ")


def _content(inside: list[str]) -> str | None:
    """Return the text of a header before its last closing line; None if there is no such line."""
    if CLOSING not in inside:
        return None
    kept = inside[: len(inside) - 1 - inside[::-1].index(CLOSING)]
    return "\n".join(line[2:] for line in kept)


def _fault(content: str | None) -> str | None:
    if content is None:
        return "it is not closed by `# ///`, each line of it beginning with `# `"
    try:
        header = parse_toml(content)
    except tomllib.TOMLDecodeError as error:
        return f"it is not valid TOML, {str(error)[:1].lower()}{str(error)[1:]}"
    return _wrong_kind(header.get("dependencies", []), header.get("requires-python", ""))


def _wrong_kind(dependencies: Any, python: Any) -> str | None:
    if not isinstance(python, str) or not COMPARISON.match(python):
        return f'`requires-python` is {python!r}: write it as in ">=3.11"'
    if not isinstance(dependencies, list) or not all(isinstance(each, str) for each in dependencies):
        return "`dependencies` is not a list of strings"
    for each in dependencies:
        if found := MISSPELLED.match(each):
            return f"{each!r} is not a requirement: there is no `{found[1]}`"
    return None


def _at(job: Document, line: int, message: str) -> Finding:
    return Finding("environment", message, place=Place(job.path, line, 1, line, len(OPENING) + 1))


GOOD = """# /// script
# requires-python = ">=3.11"
# dependencies = ["trl==1.16.0"]
# ///
print("trained")
"""

RULE = Rule(
    code="DEP101",
    name="malformed-header",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="PEP 723. Tried: `uv run` of uv 0.13.9 ends with an error for every bad example, and runs the good ones.",
    bad=(
        Case(script=GOOD.replace("# ///\n", ""), at="environment"),
        Case(
            script=GOOD.replace('# dependencies = ["trl==1.16.0"]', '#dependencies = ["trl==1.16.0"]'), at="environment"
        ),
        Case(script=GOOD.replace("# dep", "\n# dep"), at="environment"),
        Case(script=GOOD.replace('"]', '"'), at="environment"),
        Case(script=GOOD.replace('">=3.11"', "3.11"), at="environment"),
        Case(script=GOOD.replace(">=3.11", "3.11"), at="environment"),
        Case(script=GOOD.replace('["trl==1.16.0"]', '"trl"'), at="environment"),
        Case(script=GOOD.replace("trl==", "trl=>"), at="environment"),
        Case(script=GOOD.replace("print", GOOD + "print"), at="environment"),
    ),
    good=(
        Case(script=GOOD),
        Case(script='print("no header")\n'),
        Case(script=GOOD.replace("# dep", "#\n# dep")),
        Case(script=GOOD.replace("trl==1.16.0", "trl @ git+https://github.com/huggingface/trl@v1.16.0")),
    ),
    kinds=PROGRAMS,
)
