"""Suppression comment without effect.

## What it does
Checks for `# holdfast: ignore[…]` with a code that no rule has, or with the code of a rule that reports nothing
there, and for a comment whose codes follow it instead of standing in brackets. Does not report a code if one of its
rules was not selected, or was skipped: that rule might have reported something.

## Why is this bad
A comment with a misspelt code suppresses nothing. A comment whose finding no longer exists hides the next one, which
may be different. A comment without brackets suppresses everything, whatever follows it.

## Fix safety
The fix is safe. It removes what has no effect: the code, or the whole comment with its reason. It puts codes that
follow a comment in brackets. This brings back only findings that the comment was not meant for.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.check.ignore import UnusedIgnore
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place, TextEdit


def check(job: Document, unused_ignores: Sequence[UnusedIgnore]) -> Iterator[Finding]:
    """Report each suppression comment that has no effect."""
    for each in unused_ignores:
        if each.place.path == job.path and each.text in job.text:
            fix = Fix(each.remedy, (), text_edits=each.edits) if each.edits else None
            yield Finding("", _fault(each), fix, place=each.place)


def _fault(each: UnusedIgnore) -> str:
    if each.meant:
        codes = ", ".join(each.meant)
        return f"this comment suppresses all rules; to suppress only {codes} write `ignore[{codes}]`"
    unknown = [f"no rule's code begins with {code!r}" for code in each.unknown]
    unused = [f"{', '.join(each.unused)} find{'s' * (len(each.unused) == 1)} nothing here"] if each.unused else []
    return "; ".join([*unknown, *unused]) or "this comment suppresses nothing"


SCRIPT = """from trl import SFTConfig

args = SFTConfig(
    output_dir="out",
    max_length=1024,  # holdfast: ignore[{}] this script is only run with trl 0.12
)
"""
COMMENT = "  # holdfast: ignore[ARG101] this script is only run with trl 0.12"
LINE, START = 5, 21


def _example(code: str, **fields: Any) -> dict[str, object]:
    end = START + len(COMMENT) - len("ARG101") + len(code)
    edit = TextEdit((LINE, START), (LINE, end), "")
    place = Place("train.py", LINE, START + 2, LINE, end)
    text = COMMENT.strip().replace("ARG101", code)
    return {"unused_ignores": (UnusedIgnore(place=place, text=text, edits=(edit,), **fields),)}


RULE = Rule(
    code="SYN101",
    name="unused-ignore",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "What `holdfast check` itself found: the comments of a file, and the findings that they suppress. Tried with trl 1.16 on scripts, "
        "notebooks, job files and commands; `ruff` has the same as RUF100."
    ),
    bad=(
        Case(
            script=SCRIPT.format("ARG101"),
            facts=_example("ARG101", unused=("ARG101",)),
            at="",
            fixed=SCRIPT.format("ARG101").replace(COMMENT, ""),
        ),
        Case(
            script=SCRIPT.format("ARG999"),
            facts=_example("ARG999", unknown=("ARG999",)),
            at="",
            fixed=SCRIPT.format("ARG101").replace(COMMENT, ""),
        ),
    ),
    good=(
        Case(
            script=SCRIPT.format("ARG101").replace("max_length", "max_seq_length"),
            versions={"trl": "0.12.0"},
            facts={"unused_ignores": ()},
        ),
    ),
    kinds=ANY_KIND,
)
