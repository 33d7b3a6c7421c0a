"""The process that traces: what becomes of it where it cannot."""

import sys
from collections.abc import Sequence

import pytest

from holdfast.adapters.tracing import trace_steps
from tests.helpers.traced_steps import small_request


@pytest.mark.parametrize(
    ("words", "limit_s", "problem"),
    [
        ([sys.executable, "-S"], 60.0, "torch and transformers are not installed"),
        (["/bin/sh", "-c", "echo no room >&2; exit 3"], 60.0, "exit code 3: no room"),
        (["/bin/sh", "-c", "sleep 60"], 0.05, "longer than 0.05 seconds"),
    ],
)
def test_each_request_gets_the_reason_why_there_is_no_trace(words: Sequence[str], limit_s: float, problem: str) -> None:
    answers = trace_steps([small_request(layers=2), small_request(layers=3)], words, limit_s=limit_s, header="")
    assert [problem in each.problem for each in answers] == [True, True]
    assert not answers[0].events
