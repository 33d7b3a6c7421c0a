"""Disks: only the models of a study's best settings stay, if it says so."""

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.helpers.quick_training import FAILING_RATE, QuickStudy, quick_study, run  # noqa: F401 - the fixture `quick`


def kept(quick: QuickStudy, answer: dict[str, Any]) -> list[float]:
    """Return the rates of the trials that have a model."""
    return [
        each["settings"]["train.learning_rate"]
        for each in answer["trials"]
        if each["run"] and (quick.runs / each["run"] / "model").exists()
    ]


@pytest.mark.long
def test_the_models_of_the_best_settings_stay(quick: QuickStudy) -> None:
    """With all seeds of a setting; the others say why theirs are gone, and are not trained again."""
    rates = {"train.learning_rate": [0.03, 0.001, 0.01, 0.05]}
    quick.write(grid=rates, seeds=[1, 2], keep=2)

    answer = run(quick)

    assert kept(quick, answer) == [0.001, 0.001, 0.01, 0.01]
    assert Path(answer["best"]["model"]).is_dir()
    gone = json.loads((quick.runs / answer["trials"][0]["run"] / "removed.json").read_text())
    assert gone == {"removed": ["model"], "because": "it is not among the best 2 settings of the study study"}
    shown = holdfast.show(answer["trials"][0]["run"], runs=quick.runs)
    assert (shown["output"], shown["removed"]) == (None, gone["because"])
    with pytest.raises(holdfast.HoldfastError, match="it was removed, since it is not among the best 2 settings"):
        holdfast.export(answer["trials"][0]["run"], runs=quick.runs)
    assert run(quick)["settings"] == answer["settings"]
    assert set(quick.trainings().values()) == {1}
    quick.write(grid=rates, seeds=[1, 2], keep=1)
    assert kept(quick, run(quick)) == [0.01, 0.01]


def test_exports_go_with_their_model_and_a_killed_removal_is_ended(quick: QuickStudy) -> None:
    """A kill left `model.removed`; a link leads to a folder that is not the run's; a name of the user's own stays."""
    quick.write(grid={"train.learning_rate": [0.03, 0.01]})
    worse, _ = (quick.runs / each["run"] for each in run(quick)["trials"])
    (worse / "model").rename(worse / "model.removed")
    for name in ("model", "export", "export-2", "exported-by-me"):
        (worse / name).mkdir()
        (worse / name / "weights").write_text("large")
    (worse / "checkpoints").symlink_to(quick.folder, target_is_directory=True)
    quick.write(grid={"train.learning_rate": [0.03, 0.01]}, keep=1)

    run(quick)

    left = {each.name for each in worse.iterdir() if each.is_dir()} - {"attempts", "logs", "results"}
    assert left == {"exported-by-me", "checkpoints"}
    assert json.loads((worse / "removed.json").read_text())["removed"] == ["export", "export-2", "model"]


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
