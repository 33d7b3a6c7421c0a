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
from holdfast.core.backends import HF_JOBS
from tests.helpers.hub import LoopbackHub, loopback_hub

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
