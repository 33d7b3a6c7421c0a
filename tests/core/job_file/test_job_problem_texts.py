"""Messages about values of jobs and studies: in our words, and with a fix that works."""

import re
from typing import Any

import pytest

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.errors import HoldfastError, flatten
from holdfast.core.job_file.job import parse_job
from holdfast.core.study.study import parse_study

JOB = "method: sft\nmodel: m\ndataset: d\n"
STUDY = "job: job.yaml\nmetric: eval_loss\n"
LIBRARY = re.compile(r"List should|Dictionary|Tuple|Input should|validation|pydantic|Keys should|Extra inputs")
VALUES = [
    "null",
    "[]",
    "{}",
    "[1]",
    "[1, 2, 3]",
    "x",
    "1.5",
    "-1",
    "true",
    ".nan",
    ".inf",
    "1e400",
    "'1'",
    "[[]]",
    "{a: {b: 1}}",
]
JOB_KEYS = [
    "seed",
    "where.nodes",
    "where.budget_usd",
    "recover.attempts",
    "evaluate",
    "rewards",
    "train",
    "peft",
    "dataset.eval_fraction",
]
STUDY_KEYS = [
    "grid",
    "grid.a",
    "trials",
    "seeds",
    "parallel",
    "where",
    "prune.min_steps",
    "budget.hours",
    "random.count",
]
SPACES = [f"search.values.a.{name}" for name in ("choice", "uniform", "log_uniform", "integers")]


def errors_of(text: str, parse: Any) -> list[HoldfastError]:
    try:
        parse(JobFileReader().read(text, "job.yaml"))
    except (HoldfastError, ExceptionGroup) as error:
        return flatten(error)
    return []


def nested(key: str, value: str) -> str:
    *above, last = key.split(".")
    lines = [f"{'  ' * depth}{name}:" for depth, name in enumerate(above)]
    return "\n".join([*lines, f"{'  ' * len(above)}{last}: {value}"]) + "\n"


@pytest.mark.parametrize("value", VALUES)
def test_no_message_is_in_the_words_of_the_library_and_no_fix_is_no_number(value: str) -> None:
    cases: list[tuple[str, Any]] = [(JOB + nested(key, value), parse_job) for key in JOB_KEYS]
    cases += [(STUDY + nested(key, value), parse_study) for key in (*STUDY_KEYS, *SPACES)]
    errors = [(text, error) for text, parse in cases for error in errors_of(text, parse)]
    assert errors
    for text, error in errors:
        assert not LIBRARY.search(error.what), (text, error.what)
        assert not re.search(r"`(nan|inf|-inf)`|correct `\d+`|`\d+: …`", error.fix), (text, error.fix)


@pytest.mark.parametrize(
    ("value", "fix"),
    [("1.5", "write a whole number"), ("2.0", "write `2`"), ("'3'", "write `3`"), ("1e400", "write a whole number")],
)
def test_the_fix_for_a_whole_number_is_one(value: str, fix: str) -> None:
    (error,) = errors_of(f"{JOB}seed: {value}\n", parse_job)
    assert error.fix == fix


def test_a_range_with_one_value_says_so() -> None:
    (error,) = errors_of(
        f"{STUDY}search: {{count: 3, values: {{train.learning_rate: {{uniform: [1]}}}}}}\n", parse_study
    )
    assert error.what == "`search.values.train.learning_rate.uniform` has 1 of 2 values"


@pytest.mark.parametrize("line", ["train: {max_steps: 1}\n", "? [1]\n: 2\n"])
def test_thousands_of_mistakes_are_counted(line: str) -> None:
    errors = errors_of(JOB + line * 2000, parse_job)
    assert len(errors) <= 101
    assert re.fullmatch(r"\d,\d{3} more mistakes", errors[-1].what)


def test_thousands_of_unknown_keys_are_bounded() -> None:
    errors = errors_of(JOB + "".join(f"key{number}: 1\n" for number in range(3000)), parse_job)
    assert len(errors) == 101
    assert errors[-1].what == "2,900 more mistakes"
