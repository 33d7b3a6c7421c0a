"""`holdfast run` rehearses first: what would fail is not started, what passed is not rehearsed again."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from holdfast.adapters.rehearsal.passed import mark_of
from holdfast.adapters.rehearsal.programs import Program
from holdfast.core.rehearse.rehearsal import Failure, Rehearsal, StageResult
from holdfast.engine.rehearse.answers import refuses, rehearse_result
from holdfast.engine.rehearse.naming import CODE, name_cause
from holdfast.engine.run.rehearsed import summarize_rehearsal
from tests.helpers.run_place import Place
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

SCRIPT = """\
import sys
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

rows = Dataset.from_list([{{"text": f"{{i}} plus 1 equals {{i + 1}}."}} for i in range(32)])
args = SFTConfig("out", max_steps=4, per_device_train_batch_size=2, report_to="none", max_length=32, bf16=False)
trainer = SFTTrainer(model=sys.argv[1], args=args, train_dataset=rows)
trainer.train()
print("the loss is", trainer.state.log_history[-1]["{key}"])
"""
LATE = SCRIPT.format(key="last_loss")
GOOD = SCRIPT.format(key="train_loss")


@pytest.fixture(name="at")
def place(tmp_path: Path) -> Iterator[Place]:
    """A folder whose user has not rehearsed anything yet; whatever was started there is gone afterwards."""
    variables = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONWARNINGS": "ignore"}
    yield Place(tmp_path, quiet_environment(**variables))
    for process in psutil.process_iter(["cmdline"]):
        if str(tmp_path) in " ".join(process.info["cmdline"] or []):
            process.kill()


@pytest.mark.train
@pytest.mark.long
def test_what_fails_after_training_is_not_started(at: Place, tiny: Path) -> None:
    """The run is closed with the class and the stage; no attempt was made of it."""
    (at.folder / "train.py").write_text(LATE)
    code, answer, shown = at.type("run", "train.py", "--rehearse", "--", str(tiny))

    assert (code, answer["stage"], answer["attempts"]) == (1, "failed", [])
    assert answer["because"] == "refused by the rehearsal: user-code-error in `step`"
    assert answer["rehearsal"]["failure"]["where"].endswith("train.py:9")
    assert json.loads((at.run / "rehearsal.json").read_text()) == answer["rehearsal"]
    assert "user-code-error in `step`" in shown
    assert not (at.folder / "out").exists()

    told = at.start("run", "train.py", "--rehearse", "--", str(tiny)).communicate()[0]
    assert "KeyError" in told
    assert "refused by the rehearsal" in told


ASKS = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.parse_args()
"""


@pytest.mark.train
@pytest.mark.long
def test_script_that_lacks_an_argument_is_a_wrong_question(at: Place) -> None:
    """Exit code 2 and how to pass it, by the verb that was typed; the run that was asked for is in the list as refused."""
    (at.folder / "train.py").write_text(ASKS)

    for verb in ("rehearse", "run"):
        code, answer, _ = at.type(verb, "train.py", *(["--rehearse"] if verb == "run" else []))
        (error,) = answer["errors"]
        assert (code, error["what"]) == (2, "train.py requires the argument `--model`")
        assert f"`holdfast {verb} train.py -- --model …`" in error["fix"]
    assert json.loads(at.start("runs", "--format", "json").communicate()[0])["refused_by"] == "rehearsal"


@pytest.mark.train
@pytest.mark.long
def test_what_passed_is_not_rehearsed_again(at: Place, tiny: Path) -> None:
    """The first run is rehearsed, the second is told that it already passed. Both train."""
    (at.folder / "train.py").write_text(GOOD)
    first, answer, shown = at.type("run", "train.py", "--rehearse", "--", str(tiny))

    assert (first, answer["stage"]) == (0, "succeeded")
    assert "rehearsal: passes in" in shown

    again, _, shown = at.type("run", "train.py", "--rehearse", "--", str(tiny))

    assert again == 0
    assert "already passed a rehearsal" in shown
    assert len([*at.folder.glob("runs/*/rehearsal.json")]) == 1


def test_another_text_argument_environment_or_file_has_not_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the very same counts."""
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path))

    def passed(program: Program, words: Sequence[str] = ("python",), inputs: Sequence[str] = ("rows=1",)) -> bool:
        return mark_of(program, words, inputs).made_s is not None

    program = Program(path="train.py", source="a", arguments=("--b", "c"))
    mark_of(program, ["python"], ["rows=1"]).make(None)

    assert passed(program)
    others = (
        Program(path="train.py", source="a2", arguments=("--b", "c")),
        Program(path="train.py", source="a", arguments=("--bc",)),
        Program(path="train.py", source="a", arguments=("--b", "c"), variables={"SEED": "1"}),
        Program(path="trl:sft", source=""),
    )
    assert not any(map(passed, others))
    assert not passed(program, words=["uv", "run"])
    assert not passed(program, inputs=["rows=2"])


def test_what_is_only_slow_here_forbids_nothing() -> None:
    """A script that would take longer than a rehearsal may be good; one that hangs in a reward function is not."""
    slow = name_cause(CODE, "it takes longer than 180 seconds", {})
    hangs = name_cause("grpo-reward-function-error", "it takes longer than 180 seconds", {})

    assert not refuses(Failure(stage="step", cause=slow, over="it takes longer than 180 seconds"))
    assert refuses(Failure(stage="step", cause=hangs, over="it takes longer than 180 seconds"))
    assert refuses(Failure(stage="step", cause=slow))
    assert not refuses(Failure(stage="resume", cause=slow))  # a folder that is made twice, say
    assert refuses(Failure(stage="resume", cause=hangs))


def test_a_failure_that_forbids_nothing_is_told_as_such() -> None:
    """The line says why the run goes on."""
    slow = name_cause(CODE, "it takes longer than 180 seconds", {})
    failure = Failure(stage="step", cause=slow, over="it takes longer than 180 seconds")
    found = Rehearsal(stages=(StageResult(name="step", status="fail"),), failures=(failure,))
    told = summarize_rehearsal(rehearse_result(found, elapsed_s=181.2, path="train.py", isolated=False, strict=False))
    assert told == f"fails in 181.2 s: {CODE} in `step` (it takes longer than 180 seconds, which does not block a run)"
