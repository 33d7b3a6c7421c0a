"""Dataset loaded by a loading script.

## What it does
With datasets 4.0 or newer, checks for `load_dataset()` of a file that ends in `.py`.

## Why is this bad
datasets no longer runs scripts to load data: it raises `RuntimeError: Dataset scripts are no longer supported`, also
with `trust_remote_code=True`.

## Fix safety
There is no automatic fix: the data needs a copy as Parquet. On the Hub, that is often the branch
`refs/convert/parquet`. If the script is yours, pass its generator function to `Dataset.from_generator`.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

RETIRED = "4.0.0"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each loading script."""
    if not since(api, "datasets", RETIRED):
        return
    for call in job.calls:
        if call.path != "datasets.load_dataset" or call.guard.because:
            continue
        path = call.arguments.get("path", next(iter(call.positional), None))
        if isinstance(path, str) and path.endswith(".py") and not call.guard.tolerates("RuntimeError"):
            yield Finding(
                call.key,
                f"datasets {api.versions['datasets']} no longer runs loading scripts such as {path!r}",
                place=call.name_place,
            )


SCRIPT = """from datasets import load_dataset

rows = load_dataset("some/rows", split="train")
"""

RULE = Rule(
    code="DAT106",
    name="retired-dataset-script",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="datasets 3.6 and 4.0, `load.py`. Tried with 5.2: a folder and a file with a program raise RuntimeError.",
    bad=(Case(script=SCRIPT.replace("some/rows", "rows.py"), at="calls.0"),),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("some/rows", "rows.py"), versions={"datasets": "3.6.0"}),
    ),
    kinds=PROGRAMS,
)
