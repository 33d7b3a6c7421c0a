"""Real trackers, offline: a job's few keys and its completions arrive in each, and a resumed run goes on in the same tracked run."""

import json
import os
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import holdfast

JOB = """\
name: tracked
method: sft
model: builtin:tiny-chat
dataset: {path: builtin:stdlib-docstrings, rows: 20, eval_fraction: 0.2}
samples: {prompts: 2, max_new_tokens: 4}
train: {max_steps: 2, save_steps: 1, eval_steps: 1, logging_steps: 1, per_device_train_batch_size: 2, max_length: 32}
"""
OFFLINE = {"WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "WANDB_SILENT": "true"}
TIMEOUT_S = 600


def train(folder: Path, *arguments: str) -> Path:
    """Train as a run does, and return the run's folder."""
    run = folder / "runs" / "tracked-20261128-101010-x7"
    variables = {"HOLDFAST_RUN": str(run), "TRACKIO_DIR": str(folder / "trackio"), **OFFLINE}
    words = [sys.executable, str(folder / "train.py"), *arguments]
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return run


def trained(folder: Path, tracker: str) -> Path:
    """Train with a tracker, then go on from the first checkpoint."""
    if find_spec(tracker) is None:
        pytest.skip(f"{tracker} is not installed")
    (folder / "job.yaml").write_text(JOB)
    track = {"track.with": tracker, "track.project": "lab", "track.group": "rates"}
    (folder / "train.py").write_text(holdfast.render(folder / "job.yaml", set=track))
    run = train(folder)
    (first,) = run.glob("checkpoints/*/checkpoint-1")
    return train(folder, "--resume", str(first))


def rows(database: Path, query: str) -> list[Any]:
    with sqlite3.connect(database) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.train
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_mlflow_has_one_run_in_the_experiment(tmp_path: Path) -> None:
    """In a database in the run's folder; with the group as a tag."""
    run = trained(tmp_path, "mlflow")
    database = run / "mlflow.db"

    assert rows(database, "select name from experiments where name = 'lab'") == [("lab",)]
    assert rows(database, "select name, status from runs") == [("tracked-20261128-101010-x7", "FINISHED")]
    assert rows(database, "select value from tags where key = 'group'") == [("rates",)]
    assert {step for (step,) in rows(database, "select step from metrics where key = 'loss'")} >= {1, 2}
    (table,) = run.glob("mlflow-artifacts/*/artifacts/samples.json")
    assert {step for step, *_ in json.loads(table.read_text())["data"]} == {1, 2}


@pytest.mark.train
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_wandb_keeps_offline_runs_under_one_id(tmp_path: Path) -> None:
    """In the run's folder, so that they are retrieved with it, and `wandb sync` joins them."""
    run = trained(tmp_path, "wandb")

    offline = [path.name for path in run.glob("wandb/offline-run-*")]
    assert len(offline) == 2
    assert all(name.endswith(run.name) for name in offline)
    assert not (tmp_path / "wandb").exists()
    tables = [json.loads(path.read_text()) for path in run.glob("wandb/offline-run-*/files/media/table/samples*.json")]
    assert tables
    assert all(table["columns"] == ["prompt", "completion"] and len(table["data"]) == 2 for table in tables)


@pytest.mark.train
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_trackio_has_project_run_and_group(tmp_path: Path) -> None:
    """Resumed, it is one run with the steps of both parts."""
    run = trained(tmp_path, "trackio")

    (database,) = (tmp_path / "trackio").glob("lab*.db")
    assert rows(database, "select title from alerts") == []
    names = rows(database, "select distinct run_name from metrics")
    assert names == [(run.name,)]
    assert '"rates"' in str(rows(database, "select config from configs"))
    assert "trackio.table" in str(rows(database, "select metrics from metrics"))


@pytest.mark.train
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_trackio_has_an_alert_for_figures_that_are_no_numbers_and_for_an_early_end(tmp_path: Path) -> None:
    """Each once: a rate so high that the weights are lost, and evaluations that do not improve."""
    (tmp_path / "job.yaml").write_text(JOB)
    sets = {"track.with": "trackio", "train.learning_rate": 1e30, "train.max_steps": 9, "early_stopping.patience": 1}
    (tmp_path / "train.py").write_text(holdfast.render(tmp_path / "job.yaml", set=sets))

    train(tmp_path)

    (database,) = (tmp_path / "trackio").glob("*.db")
    titles = [title for (title,) in rows(database, "select title from alerts order by id")]
    assert len(titles) == 2
    assert "no finite number at step" in titles[0]
    assert titles[1].startswith("stopped early at step ")


@pytest.mark.train
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_tensorboard_writes_into_the_folder_of_the_run(tmp_path: Path) -> None:
    """Under the project, so that `tensorboard --logdir runs` shows all runs."""
    run = trained(tmp_path, "tensorboard")

    events = [*run.glob("tensorboard/lab/**/events.out.tfevents.*")]
    assert len(events) == 2
    assert all(path.stat().st_size for path in events)
