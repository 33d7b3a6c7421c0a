"""Block that looks like a script header, but that no tool reads.

## What it does
Checks for a line such as `#/// script` or `# ///script`, or one with a trailing space, followed by dependencies.

## Why is this bad
A header must begin with exactly `# /// script`. `uv run` ignores anything else: it runs the script without any
dependency, and the script ends at its first import.

## Fix safety
There is no automatic fix: the header is a comment, and the lines below it must be valid too.
"""

import re
from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.notebook import is_notebook
from holdfast.core.text.places import Place

OPENING = "# /// script"
ALIKE = re.compile(r"\s*#\s*/{2,4}\s*[Ss]cript\s*")
SAYS_SOMETHING = re.compile(r"\s*#\s*(dependencies|requires-python)\s*=")


def check(job: Document) -> Iterator[Finding]:
    """Report each block that looks like a header, unless the script has a real one."""
    lines = job.text.splitlines() if job.kind == "script" and not is_notebook(job.path) else []
    if OPENING in lines:
        return
    for number, line in enumerate(lines, start=1):
        following = lines[number : number + 3]
        if ALIKE.fullmatch(line) and any(map(SAYS_SOMETHING.match, following)):
            fault = f"{line!r} does not start a script header, so its dependencies are not installed: write `{OPENING}`"
            yield Finding("environment", fault, place=Place(job.path, number, 1, number, len(line) + 1))


GOOD = """# /// script
# dependencies = ["trl==1.16.0"]
# ///
import trl
"""

RULE = Rule(
    code="DEP102",
    name="ignored-header",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="PEP 723. Tried: `uv run --offline` of uv 0.13.9 runs each bad example without looking for trl.",
    bad=(
        Case(script=GOOD.replace("# ///", "#///"), at="environment"),
        Case(script=GOOD.replace("# /// script", "# /// script "), at="environment"),
        Case(script="if True:\n" + "".join(f"    {line}\n" for line in GOOD.splitlines()), at="environment"),
    ),
    good=(Case(script=GOOD), Case(script="# script\nimport trl\n"), Case(script="#/// scripts like this one\n")),
    kinds=PROGRAMS,
)
