"""Judging labels: one for each row, as unpaired preference has it, or one for each step."""

from dataclasses import dataclass

import polars as pl

from holdfast.core.rows.columns import Scalar
from holdfast.core.rows.scan import DamagedRows
from holdfast.engine.scan.reads import Reads
from holdfast.engine.scan.tally import DamageSign, DamageTally


@dataclass(slots=True)
class Labels:
    """How many rows are labelled so and so.

    Attributes:
        good: Those that are true.
        bad: Those that are false.
    """

    good: int = 0
    bad: int = 0

    def judge(self, numbers: pl.Series, frame: pl.DataFrame, reads: Reads, tally: DamageTally) -> None:
        """Judge the labels of one batch; `numbers` are those of its rows."""
        if reads.label:
            self._judge_label(numbers, frame, reads, tally)
        if reads.steps:
            _judge_steps(numbers, frame, tally)

    def _judge_label(self, numbers: pl.Series, frame: pl.DataFrame, reads: Reads, tally: DamageTally) -> None:
        kind, label = reads.types["label"], pl.col("label")
        tally.judge(frame, numbers, "label", [DamageSign("null", label.is_null())])
        if kind not in (Scalar("boolean"), Scalar("integer"), Scalar("float")) and not _is_class(kind):
            tally.judge(frame, numbers, "label", [DamageSign("wrong-type", label.is_not_null(), str(kind))])
            return
        if kind != Scalar("boolean"):
            tally.judge(frame, numbers, "label", [DamageSign("wrong-type", ~label.is_in((0, 1)), "number")])
        counted = frame.select(good=(label == 1).sum(), bad=(label == 0).sum())
        self.good += int(counted.item(0, "good"))
        self.bad += int(counted.item(0, "bad"))

    def marked(self) -> tuple[DamagedRows, ...]:
        """Return the damage of labels that are all of one kind, or unbalanced."""
        every = self.good + self.bad
        if every and not (self.good and self.bad):
            return (DamagedRows("one-class", "label", every, detail="true" if self.good else "false"),)
        if self.good != self.bad:
            fewer = min(self.good, self.bad)
            return (DamagedRows("uneven-classes", "label", fewer, detail="true" if self.good == fewer else "false"),)
        return ()


def _is_class(kind: object) -> bool:
    return isinstance(kind, Scalar) and kind.word == "integer"


def _judge_steps(numbers: pl.Series, frame: pl.DataFrame, tally: DamageTally) -> None:
    dtypes = frame.schema
    if dtypes["completions"] == pl.List and dtypes["labels"] == pl.List:
        uneven = pl.col("completions").list.len() != pl.col("labels").list.len()
        tally.judge(frame, numbers, "labels", [DamageSign("uneven-steps", uneven)])
