"""A short run of a job is a valid job of few steps, in which all comes early that may fail late."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.targets import read_target
from holdfast.core.job_file.job import Job
from holdfast.engine.run.short_run import EVERY, STEPS, short_run_overrides
from tests.helpers.generated_jobs import generate_job


def made_job(**keys: Any) -> Job:
    return Job.model_validate({"method": "sft", "model": "m", "dataset": "d", **keys})


@pytest.mark.parametrize("number", range(60))
def test_a_short_run_of_any_job_is_one(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps, of which some are saved, and evaluated wherever the job evaluates; the method and the data are the same."""
    monkeypatch.chdir(tmp_path)
    given = generate_job(number)
    Path(given.path).write_text(given.files[given.path])
    whole = read_target(given.path, (), ()).job
    assert whole is not None

    short = read_target(given.path, short_run_overrides(whole, "sums"), ()).job

    assert short is not None
    assert (short.name, short.method, short.dataset, short.model) == (
        "sums-short",
        whole.method,
        whole.dataset,
        whole.model,
    )
    assert 0 < short.train["max_steps"] <= STEPS
    assert (short.train["save_strategy"], short.train["save_steps"]) == ("steps", EVERY)
    evaluates = whole.evaluates and whole.train.get("eval_strategy") != "no"
    assert (short.train.get("eval_steps") == EVERY) or not evaluates


def test_what_a_short_run_pushes_is_private_and_has_a_name_of_its_own() -> None:
    job = made_job(output={"push_to": "me/model", "private": False})

    overrides = short_run_overrides(job, "sums")

    assert {'output.push_to="me/model-short"', "output.private=true"} <= set(overrides)


@pytest.mark.parametrize(("rows", "few"), [(None, 16), (5, 5), (2000, 16)])
def test_figures_of_a_short_run_come_from_few_rows_and_are_not_demanded(rows: int | None, few: int) -> None:
    evaluation = {
        "dataset": "t.jsonl",
        "rows": rows,
        "metric": ["f1"],
        "at_least": ["f1=0.6"],
        "not_worse_than": "base",
    }
    job = made_job(evaluate=[evaluation])

    (evaluate,) = [each for each in short_run_overrides(job, "sums") if each.startswith("evaluate=")]

    assert json.loads(evaluate.partition("=")[2]) == [{"dataset": ["t.jsonl"], "rows": few, "metric": ["f1"]}]


def test_a_shorter_job_stays_as_short() -> None:
    job = made_job(train={"max_steps": 3, "eval_strategy": "no"})

    assert "train.max_steps=3" in short_run_overrides(job, "sums")
    assert not [each for each in short_run_overrides(job, "sums") if "eval" in each]
