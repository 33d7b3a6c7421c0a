"""Which jobs may measure answers while they train."""

from typing import Any

import pytest

from holdfast.core.errors import UsageError
from holdfast.core.job_file.job import Job
from holdfast.engine.script.measured import outline_metrics

JOB: dict[str, Any] = {
    "method": "sft",
    "model": "a/b",
    "dataset": {"path": "c/d", "eval_fraction": 0.1},
    "samples": {"metric": ["f1", "exact_match"]},
}


@pytest.mark.parametrize("method", ["sft", "dpo", "kto"])
def test_answers_are_measured_where_the_rows_have_them(method: str) -> None:
    assert [each.name for each in outline_metrics(Job.model_validate({**JOB, "method": method}))] == [
        "f1",
        "exact_match",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dataset": "c/d"}, "no rows to evaluate on"),
        ({"method": "reward"}, "no right answers"),
        ({"where": {"strategy": "zero3"}}, "`where.strategy: zero3` may spread the weights"),
        ({"train": {"deepspeed": "zero3.json"}}, "`train.deepspeed` may spread the weights"),
        ({"train": {"fsdp": "full_shard"}}, "`train.fsdp` may spread the weights"),
        ({"samples": {"metric": "f2"}}, "no metric of answers is called 'f2'"),
        ({"samples": {"metric": ["f1", "f1"]}}, "already a metric called 'f1'"),
    ],
)
def test_a_job_that_cannot_is_refused(changes: dict[str, Any], said: str) -> None:
    """Before it is rendered, with the reason."""
    with pytest.raises(UsageError, match=said):
        outline_metrics(Job.model_validate({**JOB, **changes}))
