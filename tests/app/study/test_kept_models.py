"""Disks: only the models of a study's best settings stay, if it says so."""

import json
from pathlib import Path
from typing import Any

import holdfast
from tests.helpers.quick_training import FAILING_RATE, QuickStudy, quick_study, run  # noqa: F401 - the fixture `quick`


def kept(quick: QuickStudy, answer: dict[str, Any]) -> list[float]:
    """Return the rates of the trials that have a model."""
    return [
        each["settings"]["train.learning_rate"]
        for each in answer["trials"]
        if each["run"] and (quick.runs / each["run"] / "model").exists()
    ]


def test_the_models_of_the_best_settings_stay(quick: QuickStudy) -> None:
    """With all seeds of a setting; the others say why theirs are gone, and are not trained again."""
    rates = {"train.learning_rate": [0.03, 0.001, 0.01, 0.05]}
    quick.write(grid=rates, seeds=[1, 2], keep=2)

    answer = run(quick)

    assert kept(quick, answer) == [0.001, 0.001, 0.01, 0.01]
    assert Path(answer["best"]["model"]).is_dir()
    gone = json.loads((quick.runs / answer["trials"][0]["run"] / "removed.json").read_text())
    assert gone == {"removed": ["model"], "because": "it is not among the best 2 settings of the study study"}
    assert run(quick)["settings"] == answer["settings"]
    assert set(quick.trainings().values()) == {1}
    quick.write(grid=rates, seeds=[1, 2], keep=1)
    assert kept(quick, run(quick)) == [0.01, 0.01]


def test_a_setting_with_a_failed_trial_keeps_what_it_has(quick: QuickStudy) -> None:
    """It may be run again, and be the best then; runs of another study are left alone."""
    quick.write(name="other", trials=[{"train.learning_rate": 0.03}])
    run(quick)
    failing = {"train.learning_rate": FAILING_RATE}
    quick.write(name="study", trials=[{"train.learning_rate": 0.03}, failing, {"train.learning_rate": 0.01}], keep=1)

    answer = run(quick, despite="CMB106")

    assert [each["stage"] for each in answer["trials"]] == ["succeeded", "failed", "succeeded"]
    assert kept(quick, answer) == [0.03, 0.01]


def test_a_scenario_changes_the_trials(quick: QuickStudy) -> None:
    """What the study varies wins over it; each setting is in the run, with its reason."""
    quick.write(grid={"train.learning_rate": [0.01]}, seeds=[1])

    answer = run(quick, scenario="production")

    shown = holdfast.show(answer["trials"][0]["run"], runs=quick.runs)
    assert shown["asked"]["scenario"]["name"] == "production"
    assert all(each["because"] for each in shown["asked"]["scenario"]["chosen"])
    assert 'eval_on_start": true' in (quick.runs / answer["trials"][0]["run"] / "plan.json").read_text()
    assert run(quick)["trials"][0]["content"] != answer["trials"][0]["content"]
