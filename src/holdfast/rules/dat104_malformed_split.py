"""Split slice that datasets cannot parse.

## What it does
Checks the `split` of every `load_dataset()`: names, and slices in rows or percent, joined by `+`.

## Why is this bad
`train[:5.5%]`, `train[:5k]`, `train[5]` and slices with a space inside are invalid. datasets raises
`ValueError: Unrecognized instruction format`, after it has downloaded and prepared all of the data.

## Fix safety
There is no automatic fix: only you know how many rows you meant.
"""

import re
from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

NUMBER = r"(-?[\d_]+)(%?)"
PART = re.compile(rf"\w+(?:\.\w+)*(?:\[(?:{NUMBER})?:(?:{NUMBER})?\])?(?:\([^)]*\))?", re.ASCII)
WHOLE = 100


def check(job: Document) -> Iterator[Finding]:
    """Report each split that datasets cannot parse."""
    for call in job.calls:
        written = call.arguments.get("split") if call.path == "datasets.load_dataset" else None
        if not isinstance(written, str) or call.guard.tolerates("ValueError"):
            continue
        key = f"{call.key}.split"
        if fault := _fault(str(job.get(key))):
            yield Finding(key, fault)


def _fault(split: str) -> str | None:
    """Return the syntax error of a split; None where there is none."""
    for part in re.split(r"\s*\+\s*", split):
        found = PART.fullmatch(part)
        if not found:
            return f"{part!r} is not a split: write a slice as in `train[:500]` or `train[10%:20%]`, in whole numbers"
        low, low_unit, high, high_unit = found.groups()
        bounds = [int(number) for number in (low, high) if number]
        if "%" in (low_unit, high_unit) and any(abs(bound) > WHOLE for bound in bounds):
            return f"{part!r} goes beyond 100 %"
    return None


SCRIPT = """from datasets import load_dataset

rows = load_dataset("trl-lib/Capybara", split="train[:10%]+test[-50:]")
"""


def _script(split: str) -> str:
    return SCRIPT.replace("train[:10%]+test[-50:]", split)


RULE = Rule(
    code="DAT104",
    name="malformed-split",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="datasets 5.2, `arrow_reader._SUB_SPEC_RE`. Tried: 17 splits of a local file; every example here is among them.",
    bad=tuple(
        Case(script=_script(split), at="calls.0.split")
        for split in ("train[:5", "train[:5.5%]", "train[:110%]", "train[:5k]", "train[: 5]", "train[5]", "train [:5]")
    ),
    good=(
        Case(script=SCRIPT),
        *(
            Case(script=_script(split))
            for split in ("train", "train[5%:10]", "train[:1_000]", "train[:5]+train[6:8]", "all")
        ),
    ),
    kinds=PROGRAMS,
)
