"""Rows in memory for tests of judging them: a stand-in for `ports.Rows`, good rows of every type, and what rules say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from holdfast.adapters.rows.types import type_of_dtype
from holdfast.catalog.formats import DEFAULTS, recognise
from holdfast.core.check.finding import Finding, Skip
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import Type
from holdfast.core.rows.scan import Scan, UnreadablePart
from holdfast.core.rows.shape import Shape
from holdfast.engine.check.rule_runner import run_rules
from holdfast.engine.scan import scan_rows
from holdfast.ports import Batch
from holdfast.rules import all_rules

Row = dict[str, Any]


@dataclass(slots=True)
class FakeRows:
    """Rows of a frame, a few at a time.

    Attributes:
        told: Types that differ from those of the frame: `json`, `image`.
        skipped: How many rows behind the first batch could not be read.
        size: Rows of a batch; few, so that each test has several.
    """

    frame: pl.DataFrame
    told: Mapping[str, Type] = field(default_factory=dict[str, Type])
    broken: Sequence[UnreadablePart] = ()
    skipped: int = 0
    size: int = 3

    @classmethod
    def of(cls, rows: Sequence[Row], told: Mapping[str, Type] | None = None) -> "FakeRows":
        return cls(pl.DataFrame(rows, infer_schema_length=None, strict=False), told or {})

    @property
    def columns(self) -> Mapping[str, Type]:
        return {name: self.told.get(name, type_of_dtype(dtype)) for name, dtype in self.frame.schema.items()}

    def batches(self) -> Iterator[Batch]:
        for start in range(0, self.frame.height, self.size):
            yield Batch(start + (self.skipped if start else 0), self.frame[start : start + self.size])


def shape_of(rows: FakeRows) -> Shape:
    return recognise(rows.columns, [] if rows.told else rows.frame.head(4).to_dicts())


def scan(rows: Sequence[Row], method: str | None = None, evaluated: Sequence[Row] | None = None) -> Scan:
    """What is found in some rows."""
    return scan_frame(FakeRows.of(rows), method, FakeRows.of(evaluated) if evaluated is not None else None)


def scan_frame(rows: FakeRows, method: str | None = "sft", evaluated: FakeRows | None = None) -> Scan:
    return scan_rows(rows, shape_of(rows), eval_rows=evaluated, method=method, settings=DEFAULTS)


def findings(found: Scan, method: str | None = None, **job: Any) -> list[Finding]:
    """What the rules about rows say of a scan; none of them may be skipped."""
    values = {"dataset": {"path": "data.jsonl"}, **({"method": method} if method else {}), **job}
    rules = [rule for rule in all_rules() if rule.needs <= {"job", "scan"} and "scan" in rule.needs]
    results = list(run_rules(rules, Document(path="data.jsonl", kind="data", values=values), {"scan": found}))
    assert not [result for result in results if isinstance(result, Skip)]
    return [result for result in results if isinstance(result, Finding)]


def user(content: Any = "1 plus 1 equals?") -> Row:
    return {"role": "user", "content": content}


def assistant(content: Any = "It is 2", **more: Any) -> Row:
    return {"role": "assistant", "content": content, **more}


def system(content: Any = "You add numbers.") -> Row:
    return {"role": "system", "content": content}


def good(kind: str, index: int) -> Row:
    """One good row of a kind."""
    question, right, wrong = f"{index} plus 1 equals?", f"It is {index + 1}", f"It is {index}"
    asked, yes, no = [user(question)], [assistant(right)], [assistant(wrong)]
    rows: dict[str, Row] = {
        "nothing": {},
        "text": {"text": f"{question} {right}"},
        "messages": {"messages": asked + yes},
        "sharegpt": {"conversations": [{"from": "user", "value": question}, {"from": "assistant", "value": right}]},
        "completion": {"prompt": question, "completion": right},
        "completion-chat": {"prompt": asked, "completion": yes},
        "prompt": {"prompt": question},
        "prompt-chat": {"prompt": asked},
        "pair": {"prompt": question, "chosen": right, "rejected": wrong},
        "pair-chat": {"prompt": asked, "chosen": yes, "rejected": no},
        "implicit": {"chosen": f"{question} {right}", "rejected": f"{question} {wrong}"},
        "implicit-chat": {"chosen": asked + yes, "rejected": asked + no},
        "label": {"prompt": question, "completion": right, "label": index % 2 == 0},
        "label-chat": {"prompt": asked, "completion": yes, "label": index % 2 == 0},
        "steps": {"prompt": question, "completions": ["Count.", right], "labels": [True, index % 2 == 0]},
    }
    return rows[kind]
