"""Unknown key in the script header.

## What it does
Checks for keys of the header other than `dependencies`, `requires-python` and `tool`.

## Why is this bad
PEP 723 defines these three keys, and uv silently ignores any other. `requires_python` or `dependency` has no effect,
and no error is shown.

## Fix safety
There is no automatic fix: the header is a comment, and a misspelt key may stand beside the right one.
"""

import re
import tomllib
from collections.abc import Iterator
from itertools import filterfalse

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.environment.script_header import find_header
from holdfast.core.job.document import Document
from holdfast.core.text.nearest import nearest
from holdfast.core.text.places import LineIndex, Place
from holdfast.core.text.toml_text import parse_toml

KNOWN = ("dependencies", "requires-python", "tool")


def check(job: Document) -> Iterator[Finding]:
    """Report each key of the header that no tool reads."""
    header = find_header(job.text) if job.kind == "script" else ""
    for name in filterfalse(KNOWN.__contains__, _names(header)):
        close = nearest(name, KNOWN, cutoff=0.5)
        meant = f": write `{close}`" if close else f"; it knows {', '.join(f'`{each}`' for each in KNOWN)}"
        place = _place(job, header, name)
        yield Finding("environment", f"a script header has no key `{name}`{meant}", place=place)


def _names(header: str) -> tuple[str, ...]:
    """Return the keys of a header; none if it cannot be read, which DEP101 reports."""
    try:
        return tuple(parse_toml("\n".join(line[2:] for line in header.splitlines()[1:-1])))
    except tomllib.TOMLDecodeError:
        return ()


def _place(job: Document, header: str, name: str) -> Place:
    found = re.search(rf"(?m)^#\s*\[?\s*[\"']?(?P<key>{re.escape(name)})\b", header)
    start = job.text.find(header) + (found.start("key") if found else 0)
    return LineIndex(job.text).place(job.path, start, start + len(name))


GOOD = """# /// script
# requires-python = ">=3.11"
# dependencies = ["trl==1.16.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-20T00:00:00Z"
# ///
"""

RULE = Rule(
    code="DEP103",
    name="unknown-header-key",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="PEP 723. Tried: `uv run --offline` of uv 0.13.9 runs a script whose `dependency` cannot be had.",
    bad=(
        Case(script=GOOD.replace("requires-python", "requires_python"), at="environment"),
        Case(script=GOOD.replace("dependencies", "dependency"), at="environment"),
    ),
    good=(Case(script=GOOD), Case(script='requires_python = ">=3.11"\n')),
    kinds=PROGRAMS,
)
