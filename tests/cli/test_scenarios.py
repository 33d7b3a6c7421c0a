"""`--for` on the command line: what is shown, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from holdfast.adapters.targets.jobs import job_target
from holdfast.app.study.reading import read_study
from holdfast.cli.main import cli
from holdfast.core.errors import UsageError
from holdfast.core.job.scenario import SCENARIOS

JOB = (
    "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\nfor: fast\ntrain: {logging_steps: 7}\n"
)
STUDY = "job: job.yaml\ngrid: {for: [demo, cheap], seed: [1]}\nmetric: train_loss\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a job, a script and a study."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("job.yaml").write_text(JOB)
    Path("train.py").write_text("from trl import SFTConfig\n\nSFTConfig(output_dir='out')\n")
    Path("study.yaml").write_text(STUDY)


def type_line(*words: str) -> Result:
    return CliRunner().invoke(cli, words, standalone_mode=False)


def test_check_shows_each_setting_with_its_reason_and_what_is_kept() -> None:
    shown = type_line("check", "job.yaml", "--for", "demo", "--offline").output
    assert "for demo of job.yaml: reliability wins; the file has `for: fast`" in shown
    assert "train.max_steps" in shown
    assert "kept: yours, instead of 1" in shown


def test_json_has_the_settings() -> None:
    found: dict[str, Any] = json.loads(type_line("check", "job.yaml", "--offline", "--format", "json").output)
    scenario = found["targets"][0]["scenario"]
    assert (scenario["name"], scenario["prefers"]) == ("fast", "speed")
    assert all({"key", "value", "because", "costs", "source"} == each.keys() for each in scenario["chosen"])


def test_plan_plans_the_job_as_the_scenario_makes_it() -> None:
    found = json.loads(type_line("plan", "job.yaml", "--for", "cheap", "--offline", "--format", "json").output)
    assert found["scenario"]["chosen"][0]["key"] == "peft"
    assert found["trainable"] < found["parameters"]


def test_set_wins_over_for() -> None:
    words = ("check", "job.yaml", "--for", "demo", "--set", "train.max_steps=3", "--offline", "--format", "json")
    scenario = json.loads(type_line(*words).output)["targets"][0]["scenario"]
    assert {"key": "train.max_steps", "value": 3, "instead_of": 20} in scenario["kept"]


@pytest.mark.parametrize("verb", ["check", "plan", "rehearse", "run"])
def test_a_script_is_refused_because_scripts_are_not_changed(verb: str) -> None:
    error = type_line(verb, "train.py", "--for", "demo").exception
    assert isinstance(error, UsageError)
    assert "scripts are not changed" in error.what
    assert "`holdfast explain for:demo`" in error.fix


def test_a_folder_of_jobs_and_scripts_is_checked() -> None:
    found = json.loads(type_line("check", ".", "--for", "demo", "--offline", "--format", "json").output)
    assert {Path(each["path"]).name: each.get("scenario", {}).get("name") for each in found["targets"]} == {
        "job.yaml": "demo",
        "train.py": None,
    }


@pytest.mark.parametrize("words", [("--for", "demo", "--for", "fast"), ("--set", "for=[demo, fast]")])
def test_two_scenarios_are_refused(words: tuple[str, ...]) -> None:
    result = type_line("check", "job.yaml", "--offline", *words)
    assert result.exception
    assert not result.output


@pytest.mark.parametrize("name", SCENARIOS)
def test_explain_lists_the_settings_of_a_scenario(name: str) -> None:
    page, every = (type_line("explain", code).output for code in (f"for:{name}", "for"))
    assert f"## for: {name}" in page
    assert f"## for: {name}" in every
    listed = json.loads(type_line("explain", f"for:{name}", "--format", "json").output)["scenarios"][0]["settings"]
    assert all(f"`{each['key']}`" in page for each in listed)


def test_the_trials_of_a_study_may_be_for_different_things() -> None:
    """Each gets the settings of its scenario; what the trial varies is the user's."""
    study = read_study("study.yaml")
    scenarios = [study.target_of(trial).scenario for trial in study.trials]
    assert [each.name for each in scenarios if each] == ["demo", "cheap"]
    assert job_target(study.job, ()).scenario


@pytest.mark.parametrize(
    ("scenario", "own", "other"),
    [("cheap", "save_steps: 4", "early_stopping"), ("demo", "num_train_epochs: 2", "train.max_steps")],
)
def test_a_key_that_depends_on_one_of_yours_is_left_to_you(scenario: str, own: str, other: str) -> None:
    """With the reason, not only that it is not set."""
    data = "dataset: {path: builtin:stdlib-docstrings, eval_fraction: 0.1}"
    Path("job.yaml").write_text(f"method: sft\nmodel: builtin:tiny-chat\n{data}\ntrain: {{{own}}}\n")

    shown = " ".join(type_line("check", "job.yaml", "--for", scenario, "--offline").output.split())
    assert "kept: yours, and" in shown
    assert f"`{other}`, which depends on it, is left to you" in shown
