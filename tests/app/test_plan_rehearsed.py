"""`plan` takes the counts of a rehearsal: what the trainer really gets, and nothing of the twin's speed."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters.rehearsal.passed import mark_of
from holdfast.app.rehearsed import find_rehearsed_training
from holdfast.app.targets.local_inputs import input_digests
from holdfast.app.targets.programs import interpreter_of, program_of
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.core.rows.row_lengths import RowLengths
from tests.helpers.forked import fork
from tests.helpers.run_place import Place
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

SCRIPT = """\
import json, sys
from datasets import Dataset
from transformers import TrainerCallback
from trl import {method}Config, {method}Trainer

class Count(TrainerCallback):
    saves = evaluations = 0
    def on_save(self, *_, **__): self.saves += 1
    def on_evaluate(self, *_, **__): self.evaluations += 1

rows = Dataset.from_list([{row} for i in range({rows})])
rows = rows.filter(lambda row: len(str(row)) % 3)
parts = rows.train_test_split(0.15, seed=1)
settings = dict(output_dir="out", report_to="none", bf16=False, use_cpu=True, eval_strategy="steps", {settings})
count = Count()
trainer = {method}Trainer(
    model=sys.argv[1], args={method}Config(**settings), train_dataset=parts["train"], eval_dataset=parts["test"], callbacks=[count]
)
trainer.train()
print(json.dumps([trainer.state.max_steps, count.evaluations, count.saves]))
"""
TEXT = '{"text": " ".join(["red"] * (i % 37 + 1))}'
PAIR = '{"prompt": "red " * (i % 9 + 1), "chosen": "a printer", "rejected": "42"}'
SCRIPTS = {
    "packed": SCRIPT.format(
        method="SFT",
        row=TEXT,
        rows=400,
        settings="packing=True, max_length=64, per_device_train_batch_size=4, eval_steps=0.3, save_steps=4, num_train_epochs=2, learning_rate=0",
    ),
    "last-left-out": SCRIPT.format(
        method="DPO",
        row=PAIR,
        rows=90,
        settings='per_device_train_batch_size=3, gradient_accumulation_steps=4, dataloader_drop_last=True, eval_steps=2, save_strategy="epoch"',
    ),
}
COUNTS = re.compile(r"([\d,]+) steps?, ([\d,]+) evaluations?, ([\d,]+) checkpoints?")
NEVER_RUN = """\
import sys
from trl import SFTConfig, SFTTrainer
from mine import load_rows

SFTTrainer(model="Qwen/Qwen3-0.6B", args=SFTConfig(output_dir="out"), train_dataset=load_rows(sys.argv)).train()
"""
SETTINGS: Mapping[str, Any] = {
    "per_device_train_batch_size": 8,
    "gradient_accumulation_steps": 1,
    "num_train_epochs": 3.0,
    "max_steps": -1,
    "eval_strategy": "no",
    "save_strategy": "steps",
    "save_steps": 500,
}


@pytest.fixture(name="folder")
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose user has rehearsed nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counted(result: Mapping[str, Any]) -> list[int]:
    """Return the steps, evaluations and checkpoints that a plan takes from a rehearsal; empty if it takes none."""
    found = [COUNTS.search(reason) for reason in result["because"] if "the rehearsal of this job" in reason]
    return [int(number.replace(",", "")) for each in found if each for number in each.groups()]


def pass_rehearsal(script: str, training: RehearsedTraining | None) -> None:
    """Leave the mark of a rehearsal that passed."""
    program = program_of(script, (), ())
    mark_of(program, interpreter_of(program), input_digests(program)).make(training)


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("name", SCRIPTS)
def test_steps_evaluations_and_checkpoints_are_those_of_the_real_training(name: str, tiny: Path, folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPTS[name])
    at = Place(folder, quiet_environment(XDG_CACHE_HOME=str(folder / "cache"), PYTHONWARNINGS="ignore"))
    before = at.type("plan", "train.py", "--offline", "--hardware", "l4x1", "--", str(tiny))[1]
    assert before["time_s"] is None, "the number of rows is computed"
    assert at.type("rehearse", "train.py", "--offline", "--", str(tiny))[1]["verdict"] == "pass"
    after = at.type("plan", "train.py", "--offline", "--hardware", "l4x1", "--", str(tiny))[1]

    trained = fork(["train.py", str(tiny)], folder, quiet_environment())
    assert trained.exit_code == 0, trained.stderr
    assert counted(after) == json.loads(trained.stdout.splitlines()[-1])
    assert after["time_s"] is not None
    assert any("rows were tokenized" in reason for reason in after["because"])


def test_counts_of_a_rehearsal_narrow_the_time(folder: Path) -> None:
    """The rows come from a function: without a rehearsal, neither their number nor their lengths are known."""
    (folder / "train.py").write_text(NEVER_RUN)
    assert holdfast.plan("train.py", hardware="l4x1", offline=True)["time_s"] is None
    pass_rehearsal("train.py", RehearsedTraining(settings=SETTINGS, units=8_004))
    rows_alone = holdfast.plan("train.py", hardware="l4x1", offline=True)
    assert counted(rows_alone) == [3 * 1001, 0, 7]
    lengths = RowLengths(tokens=[200] * 2000, rows=2000, units=8_004)
    pass_rehearsal("train.py", RehearsedTraining(settings=SETTINGS, units=8_004, lengths=lengths))
    measured = holdfast.plan("train.py", hardware="l4x1", offline=True)
    spans = [each["time_s"]["high"] - each["time_s"]["low"] for each in (rows_alone, measured)]
    assert spans[1] < 0.7 * spans[0]
    (folder / "train.py").write_text(f"{NEVER_RUN}\nprint('another')\n")
    assert holdfast.plan("train.py", hardware="l4x1", offline=True)["time_s"] is None, "that was not rehearsed"


@pytest.mark.parametrize("content", [b"", b"{", b'{"settings": 3}', b"[]", b'{"settings": {}}'])
def test_a_mark_without_a_record_changes_nothing(content: bytes, folder: Path) -> None:
    """Marks were empty files before; a damaged one is none."""
    (folder / "train.py").write_text(NEVER_RUN)
    pass_rehearsal("train.py", None)
    (mark,) = (folder / "cache/holdfast/rehearsed").iterdir()
    mark.write_bytes(content)
    result = holdfast.plan("train.py", hardware="l4x1", offline=True)
    assert (result["time_s"], counted(result)) == (None, [])
    assert (find_rehearsed_training(program_of("train.py", (), ())) is None) == (content != b'{"settings": {}}')
