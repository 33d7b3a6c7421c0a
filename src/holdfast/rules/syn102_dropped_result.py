"""Statement without effect.

## What it does
Checks scripts for `trainer.train` without parentheses, if the script trains nowhere else, and for a dataset method
whose result is not used: `rows.map(…)` on a line of its own, likewise `filter`, `select`, `shuffle`, `rename_column`
and similar methods.

## Why is this bad
Without parentheses nothing is called: the script ends after it has loaded everything, and nothing is trained. Dataset
methods never change a dataset in place: each returns a new one, so the model trains on the old one.

## Fix safety
There is no automatic fix. Write `trainer.train()`, or `rows = rows.map(…)`.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place

RETURNING = frozenset(
    {
        "map",
        "filter",
        "select",
        "shuffle",
        "sort",
        "take",
        "skip",
        "shard",
        "flatten",
        "train_test_split",
        "with_format",
    }
    | {"rename_column", "rename_columns", "remove_columns", "select_columns", "add_column", "cast", "cast_column"}
)
"""Methods that return another dataset and do not change their own."""
TRAIN = "train"


def check(job: Document) -> Iterator[Finding]:
    """Report each statement whose result is discarded."""
    if not job.path.endswith(".py"):
        return  # a notebook shows the value of a cell's last line
    methods, untrained = _methods(job), _lacks_training(job)
    for node in _statements(job.text) if methods or untrained else ():
        if call := methods.get((node.lineno, node.col_offset + 1)):
            yield Finding(call.key, f"`{call.name}` returns a new dataset, which is discarded", place=call.name_place)
        elif untrained:
            yield from _uncalled(job, node)


def _uncalled(job: Document, node: ast.expr) -> Iterator[Finding]:
    if _names_training(node):
        fault = "nothing is called without parentheses: write `trainer.train()`"
        yield Finding("", fault, severity=Severity.ERROR, place=_place(job, node))


def _lacks_training(job: Document) -> bool:
    """True if a script makes a trainer or changes data, and trains nothing."""
    concerned = job.call("trainer") is not None or any(call.name in RETURNING for call in job.calls)
    return concerned and all(call.name != TRAIN for call in job.calls)


def _methods(job: Document) -> dict[tuple[int | None, int | None], Call]:
    """Return the calls of methods that return another dataset, by line and column."""
    calls = (call for call in job.calls if call.path.startswith("datasets.") and call.name in RETURNING)
    return {(call.place.line, call.place.column): call for call in calls if not call.guard.because}


@lru_cache(maxsize=1)  # the rules run again on the same script with other versions
def _statements(text: str) -> tuple[ast.expr, ...]:
    """Return the expressions that stand for themselves; the reader has parsed the same text before."""
    return tuple(node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))


def _names_training(node: ast.expr) -> bool:
    owner = node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
    return isinstance(node, ast.Attribute) and node.attr == TRAIN and "trainer" in owner.lower()


def _place(job: Document, node: ast.expr) -> Place:
    return Place(job.path, node.lineno, node.col_offset + 1, node.end_lineno, (node.end_col_offset or 0) + 1)


SCRIPT = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("acme/chats", split="train")
rows = rows.rename_column("conversation", "messages")
trainer = SFTTrainer(model="acme/base", args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train()
"""

RULE = Rule(
    code="SYN102",
    name="dropped-result",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16 and datasets 5.2 on a tiny model: each script ends without an error, one has trained nothing, the other on the rows as "
        "they were."
    ),
    bad=(
        Case(script=SCRIPT.replace("train()", "train"), at=""),
        Case(script=SCRIPT.replace("rows = rows.", "rows."), at="calls.1"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("trainer.train()", "trainer.train()\ntrainer.train")),
        Case(script=SCRIPT.replace("rows = rows.rename", "print(rows)\nrows = rows.rename")),
    ),
    kinds=frozenset({"script"}),
)
