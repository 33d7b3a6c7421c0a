"""Stream used as if it were a table.

## What it does
Checks a script whose only `load_dataset()` has `streaming=True` for `train_test_split`, `select` and `sort`, for
`num_proc`, and for a slice in its `split`.

## Why is this bad
A stream has no length and no rows by number. It has no such methods (AttributeError), its `map` and `filter` take no
`num_proc` (TypeError), and `train[:500]` is not a split that it knows (ValueError).

## Fix safety
There is no automatic fix: `take(500)` and `skip(500)` divide a stream, and its order decides which rows go where.
"""

from collections.abc import Iterator

from holdfast.catalog.data.only_load import LOAD, only_load
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

TABLE_ONLY = ("train_test_split", "select", "sort")
SERIAL = ("map", "filter")
# Methods of a stream that return a stream; the empty name is the call that loads it.
STREAMING = (*SERIAL, "shuffle", "take", "skip", "")


def check(job: Document) -> Iterator[Finding]:
    """Report each use of a stream that only a table allows."""
    load = only_load(job)
    if load is None or load.open or job.get(f"{load.key}.streaming", default=False) is not True:
        return
    yield from _sliced(job, f"{load.key}.split")
    for call in job.calls:
        if call.path.startswith(f"{LOAD}()") and not call.guard.because and (fault := _fault(call)):
            yield Finding(call.key, fault, place=call.name_place)


def _sliced(job: Document, key: str) -> Iterator[Finding]:
    split = job.get(key, None)
    if isinstance(split, str) and "[" in split:
        yield Finding(key, f"a streaming dataset cannot be sliced, so {split!r} raises: use `take` and `skip`")


def _fault(call: Call) -> str | None:
    steps = call.path.removeprefix(LOAD).replace("[]", "()").split("().")
    if any(step not in (*STREAMING, "()") for step in steps[:-1]):
        return None
    if call.name in TABLE_ONLY and not call.guard.tolerates("AttributeError"):
        return f"a stream has no `{call.name}`: use `take` and `skip`, or load without `streaming`"
    if call.name in SERIAL and call.arguments.get("num_proc") is not None and not call.guard.tolerates("TypeError"):
        return f"`{call.name}` of a stream takes no `num_proc`: leave it out"
    return None


SCRIPT = """from datasets import load_dataset

rows = load_dataset("trl-lib/Capybara", split="train", streaming=True)
parts = rows.train_test_split(test_size=0.1)
"""

RULE = Rule(
    code="DAT105",
    name="streamed-table",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="datasets 5.2, `IterableDataset`. Tried on a local file: each of these raises, on a stream of one split.",
    bad=(
        Case(script=SCRIPT, at="calls.1"),
        Case(script=SCRIPT.replace("train_test_split(test_size=0.1)", "select(range(500))"), at="calls.1"),
        Case(script=SCRIPT.replace("rows.train", "rows.shuffle(seed=1).train"), at="calls.2"),
        Case(script=SCRIPT.replace("train_test_split(test_size=0.1)", "map(clean, num_proc=4)"), at="calls.1"),
        Case(
            script=SCRIPT.replace('"train"', '"train[:500]"').replace("train_test_split(test_size=0.1)", "take(5)"),
            at="calls.0.split",
        ),
    ),
    good=(
        Case(script=SCRIPT.replace(", streaming=True", "")),
        Case(script=SCRIPT.replace("train_test_split(test_size=0.1)", "take(500)")),
        Case(script=SCRIPT.replace("train_test_split(test_size=0.1)", "map(clean)")),
        Case(script=SCRIPT.replace("train_test_split(test_size=0.1)", "to_list().sort()")),
    ),
    kinds=PROGRAMS,
)
