"""Scenarios set what the user did not write, where it fits, and nothing that `check` objects to."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.scenarios import PAIRS
from holdfast.adapters.targets import read_target
from holdfast.app.check.target import check_rules
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.catalog.calls.train_arguments import arguments
from holdfast.catalog.scenarios import load_scenarios
from holdfast.core.job.scenario import CHOSEN, SCENARIOS, ScenarioChoices, ScenarioName
from holdfast.core.job_file.job import Job, all_keys
from tests.helpers.generated_jobs import generate_job
from tests.helpers.sampling import sampled

PLAIN: Final[Mapping[str, Any]] = {
    "method": "sft",
    "model": "builtin:tiny-chat",
    "dataset": {"path": "builtin:stdlib-docstrings"},
}
MEASURED = re.compile(r"benchmarks\.scenarios ([a-z-]+)")
JOBS = range(60)


def choose(folder: Path, *sets: str, **values: Any) -> tuple[Job, ScenarioChoices]:
    """Return the job of some values with its scenario, and what that changed."""
    (folder / "job.yaml").write_text(json.dumps({**PLAIN, **values}))
    target = read_target(str(folder / "job.yaml"), sets)
    assert target.job
    assert target.scenario
    return target.job, target.scenario


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_setting_has_a_key_that_exists_and_a_source_that_can_be_looked_up(name: ScenarioName) -> None:
    """A measurement is named by its command."""
    taken = {f"train.{each}" for each in arguments("sft")} | set(all_keys())
    for setting in load_scenarios()[name].setting:
        keys = {key.replace("*.", "") for key in (setting.key, *setting.unless)}
        assert keys <= taken | {"evaluate.rows"}, keys - taken
        assert all((setting.because, setting.costs, setting.source))
        assert {*MEASURED.findall(setting.source)} <= {*PAIRS, "best", "memory"}


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_the_user_wrote_wins_and_is_listed(name: str, tmp_path: Path) -> None:
    """In the file, with `--set`, and also as `null`."""
    _, before = choose(
        tmp_path, **{"for": name, "dataset": {"path": "builtin:stdlib-docstrings", "eval_split": "test"}}
    )
    mine = before.chosen[-1].key
    job, after = choose(
        tmp_path,
        f"{mine}=null",
        **{"for": name, "dataset": {"path": "builtin:stdlib-docstrings", "eval_split": "test"}},
    )
    assert mine not in {each.key for each in after.chosen}
    assert (mine, None) in {(each.key, each.value) for each in after.kept}
    assert job.for_ == name


def test_a_job_that_names_no_scenario_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(PLAIN))
    target = read_target(str(tmp_path / "job.yaml"))
    assert (target.scenario, target.job and target.job.train) == (None, {})


def test_the_command_line_names_another_scenario_than_the_file(tmp_path: Path) -> None:
    _, scenario = choose(tmp_path, "for=demo", **{"for": "production"})
    assert (scenario.name, scenario.overrides) == ("demo", "production")


@pytest.mark.parametrize(
    ("where", "train", "interval"),
    [
        ({"timeout": "12h"}, {}, 1 / 24),
        ({"timeout": "30m"}, {}, 0.1),
        ({"timeout": "90d"}, {}, 0.01),
        ({}, {}, 0.1),
        ({"timeout": "12h"}, {"save_steps": 50}, 50),
        ({"timeout": "12h"}, {"eval_steps": 0.2}, 0.2),
    ],
)
def test_production_saves_and_evaluates_at_the_same_steps(
    where: dict[str, Any], train: dict[str, Any], interval: float, tmp_path: Path
) -> None:
    """At most half an hour of the timeout is lost; a user's own interval holds for both."""
    job, _ = choose(tmp_path, **{"for": "production", "where": where, "train": train})
    assert job.train["save_steps"] == job.train["eval_steps"] == pytest.approx(interval, abs=1e-4)
    assert job.train["load_best_model_at_end"] is True


def test_epochs_that_the_user_wrote_are_not_overridden_by_steps(tmp_path: Path) -> None:
    """Otherwise `max_steps` would override them without a word."""
    job, scenario = choose(tmp_path, **{"for": "demo", "train": {"num_train_epochs": 2}})
    assert "max_steps" not in job.train
    assert [(each.key, each.other_key) for each in scenario.kept] == [("train.num_train_epochs", "train.max_steps")]


def test_a_setting_that_check_would_refuse_beside_the_users_is_not_made(tmp_path: Path) -> None:
    """The best checkpoint needs a save at each evaluation."""
    job, scenario = choose(tmp_path, **{"for": "production", "train": {"eval_steps": 30, "save_steps": 50}})
    omitted = {each.key: each.because for each in scenario.omitted}
    assert "load_best_model_at_end" not in job.train
    assert "metric_for_best_model" not in job.train
    assert "EVL102" in omitted["train.load_best_model_at_end"]


@pytest.mark.parametrize(
    ("rows", "name", "omitted"),
    [(8, "production", "dataset.eval_fraction"), (40, "demo", "dataset.rows")],
)
def test_few_rows_are_all_used(rows: int, name: str, omitted: str, tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * rows)
    _, scenario = choose(tmp_path, **{"for": name, "dataset": "rows.jsonl"})
    assert f"{rows} rows" in {each.key: each.because for each in scenario.omitted}[omitted]


def test_each_evaluation_of_a_demo_is_small_unless_it_says_how_large_it_is(tmp_path: Path) -> None:
    evaluations = [{"dataset": "a.jsonl"}, {"dataset": "b.jsonl", "rows": 300}]
    job, _ = choose(tmp_path, **{"for": "demo", "evaluate": evaluations})
    assert [each.rows for each in job.evaluate] == [20, 300]


def test_fast_keeps_activations_only_if_a_run_may_take_that_back(tmp_path: Path) -> None:
    """Memory that runs out is what this setting risks."""
    kept, _ = choose(tmp_path, **{"for": "fast"})
    careful, scenario = choose(tmp_path, **{"for": "fast", "recover": {"allow": []}})
    assert [job.train.get("activation_checkpointing") for job in (kept, careful)] == [False, None]
    assert "train.activation_checkpointing" in {each.key for each in scenario.omitted}


@pytest.mark.parametrize("number", sampled(JOBS, 20))
def test_check_objects_to_no_setting_of_a_scenario(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Good jobs of all methods stay good."""
    monkeypatch.chdir(tmp_path)
    job = generate_job(number)
    for path, text in job.files.items():
        Path(path).write_text(text)
    Path(job.path).write_text(job.text)
    for name in SCENARIOS:
        target = read_target(job.path, (f"for={name}",))
        found = check_rules(target, TargetRequest(path=job.path, hub=HubAccess.OFFLINE)).findings
        caused = [each for each in found if each.place and each.place.origin == CHOSEN]
        assert not caused, (name, target.scenario)
