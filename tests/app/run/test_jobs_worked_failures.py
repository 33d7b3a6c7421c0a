"""The worked failures of Hugging Face Jobs: each is prevented, or told with its cause and fix."""

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters.backends.hf_jobs.states import poll_result, waiting_phase
from holdfast.app.run.observers import NO_OBSERVER
from holdfast.app.run.verb import run
from holdfast.core.errors import UsageError
from holdfast.core.run.event import RunStage
from tests.app.run.test_hf_jobs_runs import begin
from tests.app.run.test_hf_jobs_runs import hub as hub  # noqa: PLC0414 - a fixture
from tests.helpers.fakes import undiagnosed
from tests.helpers.hub import LoopbackHub

JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n"
THERE = ("where.backend=hf-jobs", "where.hardware=cpu-basic")
TIMEOUT = "where.timeout=1h"
REFUSED: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "the default timeout": ((), {}, "the job has no timeout"),
    "a literal token among secrets": (
        (TIMEOUT, "environment.secrets=[HF_TOKEN]"),
        {"HF_TOKEN": "$HF_TOKEN"},
        "HF_TOKEN is the literal text '$HF_TOKEN'",
    ),
    "a literal token among variables": (
        (TIMEOUT, "environment.variables.OTHER=${HF_TOKEN}"),
        {},
        "OTHER is the literal text '${HF_TOKEN}'",
    ),
    "a secret that is not set": ((TIMEOUT, "environment.secrets=[OTHER]"), {}, "secrets are not set: OTHER"),
}


@pytest.mark.parametrize("failure", REFUSED)
def test_it_is_refused_before(
    hub: LoopbackHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: str,
) -> None:
    """Of a script, which no job file describes."""
    sets, variables, told = REFUSED[failure]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "train.py").write_text("print(1)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        run("train.py", set=[*THERE, *sets], rehearse=False)

    assert told in error.value.what
    assert error.value.fix
    assert not hub.jobs.all


SENDS = "from huggingface_hub import run_uv_job\nrun_uv_job('SCRIPT', flavor='t4-small'TIMEOUT)\n"
RESUMES = """from huggingface_hub import snapshot_download
from trl import SFTConfig, SFTTrainer
folder = snapshot_download("me/a", allow_patterns=["last-checkpoint/*"])
args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/a", hub_strategy="every_save")
SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args).train(resume_from_checkpoint=f"{folder}/last-checkpoint")
"""
FOUND = {
    "the default timeout": (SENDS.replace("TIMEOUT", ""), "JOB104"),
    "a literal token": (SENDS.replace("TIMEOUT", ", timeout='4h', secrets={'HF_TOKEN': '$HF_TOKEN'}"), "HUB106"),
    "every_save taken for resumable": (RESUMES, "HUB105"),
    "the page of a script": (
        SENDS.replace("TIMEOUT", ", timeout='4h'").replace("SCRIPT", "https://github.com/a/b/blob/main/train.py"),
        "JOB109",
    ),
}


@pytest.mark.parametrize("failure", FOUND)
def test_it_is_found_in_a_script_that_sends_jobs_itself(tmp_path: Path, failure: str) -> None:
    """By `check`."""
    source, code = FOUND[failure]
    (tmp_path / "send.py").write_text(source)
    result: dict[str, Any] = dict(holdfast.check(str(tmp_path / "send.py"), offline=True))

    assert code in {finding["code"] for target in result["targets"] for finding in target["findings"]}


PUSHES = """
    from holdfast_runtime import attempt
    attempt.write("start", max_steps=1)
    attempt.step = 1
    attempt.write("step", step=1, max_steps=1, loss=1.0)
    attempt.write("push", step=1, folder="/nowhere", repository="me/a")
"""
WRITES = """
    import pathlib
    from holdfast_runtime import attempt, keep_output
    keep_output("out")
    pathlib.Path("out/model.safetensors").write_text("weights")
"""


def test_a_push_that_was_refused_in_silence_is_no_success(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is COMPLETED; what proves a push is the repository."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    state = begin(tmp_path, PUSHES).supervise(NO_OBSERVER, undiagnosed)

    assert hub.jobs.newest.stage == "COMPLETED"
    assert state.stage is RunStage.FAILED
    assert "me/a" in state.because


def test_the_output_of_a_trainer_outlives_the_disk(hub: LoopbackHub, tmp_path: Path) -> None:
    """A relative folder is one of the machine's own disk."""
    begun = begin(tmp_path, WRITES)
    begun.supervise(NO_OBSERVER, undiagnosed)

    assert any(path.endswith("/outputs/out/model.safetensors") for path in hub.buckets["me/holdfast"].files)
    assert (begun.folder / "outputs" / "out" / "model.safetensors").read_text() == "weights"


def test_a_job_that_is_stuck_names_what_fits() -> None:
    """And its time does not count."""
    assert poll_result("SCHEDULING", "").waiting
    assert "l4x1" in waiting_phase("t4-small", 3600.0, message="")
    assert "there are" not in waiting_phase("unheard-of", 3600.0, message="")
