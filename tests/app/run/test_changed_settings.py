"""A run whose settings are no longer those of its checkpoint does not continue until a person accepts that."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.app.resume.verb import resume
from holdfast.app.run.verb import run
from holdfast.app.show.verb import show
from holdfast.core.errors import UsageError
from holdfast.results.attempt import AttemptResume
from holdfast.results.run import RunResult
from tests.helpers.forked_backend import ForkedBackend
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

SCRIPT = """\
import os, signal, sys
from datasets import load_dataset
from transformers import TrainerCallback
from trl import SFTConfig, SFTTrainer

class Once(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 4 and not os.path.exists("struck"):
            open("struck", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

settings = SFTConfig(
    output_dir="out", save_steps=2, max_steps=6, use_cpu=True, report_to="none", disable_tqdm=True,
    **eval(open("settings.py").read()),
)
rows = load_dataset("json", data_files="rows.jsonl", split="train")
trainer = SFTTrainer(model=sys.argv[1], args=settings, train_dataset=rows, callbacks=[Once()])
trainer.train()
trainer.save_model("out/final")
"""
ROWS = tuple({"text": f"row {n} is here"} for n in range(24))

pytestmark = pytest.mark.train


def write_rows(rows: Sequence[object]) -> None:
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def killed(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> RunResult:
    """Return a run of a script that reads its settings from a file; SIGKILL ended it after its first checkpoint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("holdfast.app.run.runs.open_backend", ForkedBackend.open)
    Path("train.py").write_text(SCRIPT)
    Path("settings.py").write_text("dict(learning_rate=1e-3)")
    write_rows(ROWS)
    return run("train.py", arguments=[str(tiny)], set=["where.backend=local"], rehearse=False, offline=True)


def resumed_as(result: RunResult) -> AttemptResume:
    """Return how the settings of the newest attempt compare with its checkpoint's."""
    found = result.attempts[-1].resumed
    assert found is not None, result.because
    return found


@pytest.mark.long
def test_an_unchanged_job_continues(killed: RunResult) -> None:
    """And nothing is said of its settings."""
    after = resume(killed.run)

    assert (after.stage, after.attempts[-1].steps) == ("succeeded", 6), after.because
    assert resumed_as(after) == AttemptResume(verdict="same", changes=[])


def test_other_settings_are_refused_until_they_are_accepted(killed: RunResult) -> None:
    """Before a step is trained; the answer names what differs, and the option that accepts exactly that."""
    Path("settings.py").write_text("dict(learning_rate=2e-3, seed=7)")
    write_rows([*ROWS[:-1], {"text": "another"}])
    refused = resume(killed.run)

    assert (refused.stage, refused.attempts[-1].steps) == ("failed", 2)
    changes = {each.key: (each.before, each.after) for each in resumed_as(refused).changes}
    assert changes.keys() == {"learning_rate", "seed", "data"}
    assert (changes["learning_rate"], changes["seed"]) == ((1e-3, 2e-3), (42, 7))
    assert "`learning_rate` from 0.001 to 0.002" in refused.because
    assert refused.next[-1].command.endswith(f"{killed.run} --accept-changes")

    Path("settings.py").write_text("dict(learning_rate=3e-3, seed=7)")  # nobody has seen this one
    assert resumed_as(resume(killed.run, accept_changes=True)).verdict == "refused"
    after = resume(killed.run, accept_changes=True)
    assert (after.stage, resumed_as(after).verdict) == ("succeeded", "accepted"), after.because
    assert show(killed.run).attempts[-1].steps == 6


@pytest.mark.long
def test_there_must_be_changes_to_accept(killed: RunResult) -> None:
    """Nothing is accepted unseen."""
    with pytest.raises(UsageError, match="no changes to accept"):
        resume(killed.run, accept_changes=True)


@pytest.mark.long
def test_a_checkpoint_without_settings_is_not_refused(killed: RunResult) -> None:
    """It is said that nothing was compared."""
    for manifest in Path("out").glob("*/holdfast-manifest.json"):
        written = json.loads(manifest.read_text())
        del written["settings"]
        manifest.write_text(json.dumps(written))
    Path("settings.py").write_text("dict(learning_rate=2e-3)")
    after = resume(killed.run)

    assert (after.stage, resumed_as(after).verdict) == ("succeeded", "unknown"), after.because
