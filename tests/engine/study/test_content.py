"""What a trial is known by: nothing that decides its result is left out, and nothing else makes it another one."""

from typing import Any

import pytest

from holdfast.core.job_file.job import Job
from holdfast.engine.study.content import NUMBERS, WITHOUT_EFFECT, content_of, shape_of

VERSIONS = {"trl": "1.16.0"}
JOB: dict[str, Any] = {"method": "sft", "model": "tiny", "dataset": {"path": "/data/a.jsonl"}}


def content(digest: str = "1", varied: dict[str, Any] | None = None, **values: Any) -> str:
    return content_of(Job(**{**JOB, **values}), varied or {}, {"/data/a.jsonl": digest}, VERSIONS)


def shape(**values: Any) -> str:
    return shape_of(Job(**{**JOB, **values}), {})


@pytest.mark.parametrize(
    "values",
    [
        {"seed": 1},
        {"train": {"learning_rate": 1e-5}},
        {"method": "reward"},
        {"model": {"path": "tiny", "revision": "a"}},
        {"peft": {"r": 8}},
        {"evaluate": [{"dataset": "b"}]},
        {"environment": {"requirements": ["trl==1.0"]}},
        {"where": {"processes": 2}},
        {"digest": "2"},
    ],
)
def test_what_decides_a_result_makes_another_trial(values: dict[str, Any]) -> None:
    """Settings, data, versions."""
    assert content(**values) != content()


@pytest.mark.parametrize(
    "values",
    [
        {"name": "other"},
        {"output": {"push_to": "me/it"}},
        {"recover": {"attempts": 1}},
        {"track": {"with": "trackio"}},
        {"where": {"backend": "hf-jobs", "hardware": "l4x1", "timeout": "1h", "budget_usd": 2}},
    ],
)
def test_what_does_not_leaves_it_as_it_is(values: dict[str, Any]) -> None:
    """A study can go on elsewhere, and with other limits."""
    assert content(**values) == content()


def test_a_key_without_effect_counts_where_the_study_varies_it() -> None:
    """Who compares two kinds of hardware wants two trials."""
    assert WITHOUT_EFFECT
    assert content(varied={"where.hardware": "a"}) != content(varied={"where.hardware": "b"})


def test_a_file_is_known_by_what_it_holds() -> None:
    """Wherever it lies."""
    moved = content_of(Job(**{**JOB, "dataset": "/else/b.jsonl"}), {}, {"/else/b.jsonl": "1"}, VERSIONS)
    assert moved == content()
    assert content_of(Job(**JOB), {}, {"/data/a.jsonl": "1"}, {"trl": "2"}) != content()


def test_jobs_that_differ_in_numbers_of_training_are_rehearsed_once() -> None:
    """Not where the number is of another kind: what fails in a step may depend on it."""
    assert "train.learning_rate" in NUMBERS
    assert shape(seed=1, train={"learning_rate": 1e-5}) == shape(seed=2, train={"learning_rate": 1e-3})
    assert shape(train={"learning_rate": 1e-5}) != shape(train={"learning_rate": -1.0})
    assert shape(train={"learning_rate": 1e-5}) != shape(train={"learning_rate": "1e-5"})
    assert shape(train={"max_length": 8}) != shape(train={"max_length": 16})
    assert shape(train={"weight_decay": 0.0}) != shape()
    assert shape(dataset="b") != shape()
