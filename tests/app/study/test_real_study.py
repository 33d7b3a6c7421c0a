"""A study of twelve real trainings."""

from pathlib import Path

import pytest

from benchmarks.study_trials import FAILING, make_study, run_study


@pytest.mark.train
@pytest.mark.long
def test_twelve_trials_end_with_the_right_best_and_both_causes(tmp_path: Path) -> None:
    """Two datasets, three rates, two seeds; two trials are made to fail, and each shape is rehearsed."""
    make_study(tmp_path, parallel=2)

    _, answer = run_study(tmp_path, "--runs", "runs")

    assert [each["number"] for each in answer["failed"]] == FAILING
    assert answer["failed"][0]["class"] == "user-code-error"
    assert all(each["because"] for each in answer["failed"])
    assert answer["best"]["settings"] == {"dataset.path": "sums.jsonl", "train.learning_rate": 0.01}
    assert (tmp_path / "runs" / answer["best"]["run"] / "model" / "model.safetensors").exists()
    assert len([*tmp_path.glob("runs/*/rehearsal.json")]) <= 2
