"""A study of real trials on other backends: the table is the same as on this machine.

`benchmarks.study_trials real --backend` runs the one of twelve trials.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import holdfast
from benchmarks.study_trials import make_study
from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.adapters.targets import Target
from holdfast.core.run.backends import HF_JOBS
from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.quick_training import QuickStudy, quick_study, run  # noqa: F401 - the fixture `quick`

ELSEWHERE = {
    "fake": {"backend": "fake"},
    "hf-jobs": {"backend": "hf-jobs", "hardware": "cpu-basic", "timeout": "1h"},
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub whose jobs are processes of this machine, and a place for the machines of the fake."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(HfJobsBackend, "capabilities", replace(HF_JOBS, poll_s=0.2))
    monkeypatch.setenv("HOLDFAST_FAKE", str(tmp_path / "far away"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    monkeypatch.chdir(tmp_path)
    with loopback_hub() as hub:
        for name, value in hub.variables.items():
            monkeypatch.setenv(name, value)
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
            monkeypatch.delenv(name, raising=False)
        hub.jobs.network |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        yield hub


SCRIPT = """\
import os, pathlib
from holdfast_runtime import attempt
assert pathlib.Path("a.jsonl").stat().st_size
attempt.write("start", step=0, max_steps=2)
attempt.write("evaluate", step=2, max_steps=2, metrics={"eval_loss": LOSS})
model = pathlib.Path(os.environ["HOLDFAST_RUN"], "model")
model.mkdir()
(model / "model.safetensors").write_text("weights")
"""


@pytest.mark.usefixtures("hub")
def test_trials_get_their_files_and_their_models_come_back(quick: QuickStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that shares nothing with this one."""

    def script_of(target: Target) -> str:
        assert target.job
        return SCRIPT.replace("LOSS", str(float(target.job.seed)))

    monkeypatch.setattr("holdfast.app.run.planning.script_of", script_of)
    quick.job["where"] = {"backend": "fake"}
    quick.write(seeds=[2, 1])

    answer = run(quick)

    assert answer["verdict"] == "complete", answer["failed"]
    assert [each["value"] for each in answer["trials"]] == [2.0, 1.0]
    assert Path(answer["best"]["model"], "model.safetensors").read_text() == "weights"


BEHIND = """\
import time
from holdfast_runtime import attempt
attempt.write("start", step=0, max_steps=9)
attempt.write("evaluate", step=1, max_steps=9, metrics={"eval_loss": LOSS})
if LOSS > 1:
    time.sleep(300)
attempt.write("evaluate", step=9, max_steps=9, metrics={"eval_loss": LOSS})
"""
"""A training that waits to be stopped if its loss is above 1."""


@pytest.mark.parametrize("name", ["fake", pytest.param("hf-jobs", marks=pytest.mark.long)])
@pytest.mark.usefixtures("hub")
def test_a_trial_that_falls_behind_is_stopped_elsewhere_too(
    name: str, quick: QuickStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what its log says; its run is no failure, and is not started again."""

    def script_of(target: Target) -> str:
        assert target.job
        return BEHIND.replace("LOSS", str(float(target.job.seed)))

    monkeypatch.setattr("holdfast.app.run.planning.script_of", script_of)
    quick.job["where"] = ELSEWHERE[name]
    quick.write(seeds=[1, 2], prune={"min_steps": 1, "factor": 2})

    answer = run(quick)

    assert [trial["stage"] for trial in answer["trials"]] == ["succeeded", "pruned"], answer["failed"]
    assert "at step 1 its eval_loss of 2 is not among the best of 2 trials" in answer["trials"][1]["pruned"]
    assert answer["verdict"] == "complete"
    assert run(quick)["trials"] == answer["trials"]


@pytest.mark.usefixtures("hub")
def test_a_file_that_a_machine_would_lack_is_reported_before_any_trial_starts(
    quick: QuickStudy, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With the trials that name it; no run has been started."""
    far = tmp_path_factory.mktemp("far") / "b.jsonl"
    far.write_text('{"text": "one two three"}\n' * 40)
    quick.job["where"] = {"backend": "fake"}
    quick.write(grid={"dataset.path": ["a.jsonl", str(far)]}, seeds=[1, 2])

    with pytest.raises(ExceptionGroup) as caught:
        run(quick)

    (error,) = caught.value.exceptions
    assert f"the job's machine would not have `{far}`" in str(error)
    assert "trials 3, 4" in str(error)
    assert not list(quick.runs.glob("*/job.yaml"))


def table(answer: dict[str, Any]) -> list[Any]:
    """Return what a study says of its settings, of its best, and of what failed."""
    failed = [(each["number"], each["settings"]) for each in answer["failed"]]
    return [answer["settings"], answer["best"]["settings"], answer["best"]["value"], failed]


def write_study(folder: Path, where: Mapping[str, str]) -> Path:
    """Write a study of four short trials, two of which are made to fail."""
    file = make_study(folder, 2, where)
    text = file.read_text().replace("[1.0e-4, 1.0e-3, 1.0e-2]", "[1.0e-4]").replace("max_steps: 20", "max_steps: 3")
    file.write_text(text)
    return file


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.usefixtures("hub")
def test_the_same_study_gives_the_same_table_elsewhere(name: str, tmp_path: Path) -> None:
    """Over two datasets and two seeds: an exception in the user's function, and a process that is killed."""
    here = holdfast.study(write_study(tmp_path, {}), runs=tmp_path / "here", rehearse=False)
    there = holdfast.study(write_study(tmp_path, ELSEWHERE[name]), runs=tmp_path / "there", rehearse=False)

    assert [each["number"] for each in there["failed"]] == [2, 4]
    assert there["failed"][0]["class"] == "user-code-error"
    assert all(each["because"] and each["fix"] for each in there["failed"])
    assert there["elapsed_s"] > 0
    assert table(there) == table(here)
    assert Path(there["best"]["model"], "model.safetensors").stat().st_size
