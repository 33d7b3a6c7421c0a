"""Split read by the program, but missing from its data.

## What it does
Checks the splits that the program reads by name, as in `rows["validation"]`, where the splits of the dataset are
certain. They are certain after `train_test_split`, in a `DatasetDict` that the program creates itself, and where the
program loads files: `load_dataset` returns one split, `train`, unless `data_files` is a mapping of splits to files.
Ignores splits that the program tests for first, with `"validation" in rows`.

## Why is this bad
The program ends with KeyError: 'validation'. `train_test_split` always names its two parts `train` and `test`,
whatever they are for.

## Fix safety
There is no automatic fix: only you know which part of the data you meant.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document
from holdfast.core.job.hidden import untracked

DATA: Final = frozenset({"train_dataset", "eval_dataset"})
HALVES: Final = ("train", "test")
KEEPING: Final = frozenset(
    {"cast", "cast_column", "class_encode_column", "filter", "flatten", "flatten_indices", "map", "remove_columns"}
    | {"rename_column", "rename_columns", "select_columns", "shuffle", "sort", "with_format", "with_transform"}
)
"""Methods of a `DatasetDict` that return another with the same splits."""
CHANGING: Final = frozenset({"clear", "pop", "popitem", "setdefault", "update"})
"""Methods that change which splits there are."""
BUILDERS: Final = frozenset({"csv", "json", "parquet", "text"})
"""Readers of files; `datasets.load_dataset` takes them for the names of their format."""


def check(job: Document) -> Iterator[Finding]:
    """Report each split that is read, but missing from the data."""
    calls = [untracked(call) for call in job.calls]
    if any(_splits(job, call) for call in calls):
        _note_hidden(job)
    for call in calls:
        if not call.guard.tolerates("KeyError"):
            yield from _missing_splits(job, call)


def _missing_splits(job: Document, call: Call) -> Iterator[Finding]:
    for key, taken in _taken(call):
        has = _splits_beside(job, taken)
        if has and taken.item not in has:
            names = " and ".join(f"`{name}`" for name in has)
            place = call.name_place if taken is call.receiver else None
            yield Finding(key, f"the data has no split `{taken.item}`; it has {names}", place=place)


def _taken(call: Call) -> Iterator[tuple[str, CallResult]]:
    """Yield the results of other calls that a call is given, and the one on which it is called; each with its key."""
    given = (*call.arguments.items(), *enumerate(call.positional))
    yield from ((f"{call.key}.{name}", value) for name, values in given for value in _results(values))
    if call.receiver is not None:
        yield f"{call.key}.{call.name}", call.receiver


def _results(value: object) -> Iterator[CallResult]:
    """Yield the results of other calls in a value: the value itself, or parts of a mapping or a list."""
    if isinstance(value, CallResult):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _results(each)


def _splits_beside(job: Document, taken: CallResult) -> tuple[str, ...]:
    """Return the splits among which one is read; empty if they are not known, or the program looks for it first.

    `train` is there whatever the call reads: nothing hidden decides that.
    """
    if not taken.item or taken.item in job.asked:
        return ()
    call = job.call(taken.key)
    return _splits(job, untracked(call) if call and taken.item == HALVES[0] else call)


def _note_hidden(job: Document) -> None:
    """Read the data that trainers are given, so that a hidden value counts as skipped: it may be a missing split."""
    for call in job.calls:
        for name in call.arguments:
            if name in DATA:
                call.arguments[name]


def _splits(job: Document, call: Call | None) -> tuple[str, ...]:
    """Return the splits of what a call gives; empty where they are not known, or where it gives no splits at all."""
    origin = _origin(job, call)
    if origin is None or origin.package != "datasets" or origin.guard.because:
        return ()
    return _made_splits(origin)


def _origin(job: Document, call: Call | None) -> Call | None:
    """Return the call that made the splits which a call passes on; None if the program may change them."""
    while call is not None and not _may_change(job, call):
        if call.name not in KEEPING or not call.receiver or call.receiver.item:
            return call
        call = job.call(call.receiver.key)
    return None


def _made_splits(call: Call) -> tuple[str, ...]:
    if call.name == "train_test_split":
        return HALVES
    if call.path.endswith(".DatasetDict") and not call.arguments:
        return _names(next(iter(call.positional), None))
    return _loaded(call) if call.path == "datasets.load_dataset" else ()


def _loaded(call: Call) -> tuple[str, ...]:
    files = call.arguments.get("data_files")
    if call.open or len(call.positional) != 1 or call.positional[0] not in BUILDERS or "split" in call.arguments:
        return ()
    if isinstance(files, Mapping):
        return _names(files)
    listed = isinstance(files, str) or (isinstance(files, list) and all(isinstance(each, str) for each in files))
    return ("train",) if listed else ()


def _names(splits: object) -> tuple[str, ...]:
    return tuple(map(str, splits)) if isinstance(splits, Mapping) else ()


def _may_change(job: Document, call: Call) -> bool:
    """True if the program adds or removes splits of what a call gave."""
    return any(each.name in CHANGING and each.receiver and each.receiver.key == call.key for each in job.calls)


HALVED = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("acme/chats", split="train")
rows = rows.train_test_split(test_size=0.1, seed=42).shuffle(seed=42)
trainer = SFTTrainer(
    "Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows["train"], eval_dataset=rows["test"]
)
"""
SEVERAL = HALVED.replace('rows["test"]', '{"held out": rows["test"], "seen": rows["train"]}')
VALIDATED = HALVED.replace('rows["test"]', 'rows["validation"]')
LOADED = """
from datasets import load_dataset

rows = load_dataset("json", data_files={"train": "train.jsonl", "test": "test.jsonl"})
held_out = rows["test"].select(range(10))
"""

RULE = Rule(
    code="DAT127",
    name="unmade-split",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="datasets 5.2: each example of `tests/rules/test_unmade_splits.py` was run, and raises KeyError where this rule reports it.",
    bad=(
        Case(script=VALIDATED, at="trainer.eval_dataset"),
        Case(script=LOADED.replace('rows["test"]', 'rows["validation"]'), at="calls.1.select"),
        Case(script=SEVERAL.replace('rows["test"]', 'rows["validation"]'), at="trainer.eval_dataset"),
    ),
    good=(
        Case(script=HALVED),
        Case(script=LOADED),
        Case(script=SEVERAL),
        Case(script=VALIDATED.replace("trainer =", 'rows["validation"] = rows.pop("test")\ntrainer =')),
        Case(
            script=VALIDATED.replace(
                "trainer =", 'if "validation" not in rows:\n    raise SystemExit("no rows to evaluate on")\ntrainer ='
            )
        ),
    ),
    kinds=PROGRAMS,
)
