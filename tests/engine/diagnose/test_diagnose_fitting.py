"""An answer fits the job of its log: its settings exclude classes, and a fix speaks of its method, its head and the user's own function alone."""

from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from msgspec import convert

from holdfast import diagnose
from holdfast.cli.text.diagnosis import render_diagnosis
from holdfast.results.diagnose import DiagnoseResult

PACKAGES = "/opt/venv/lib/python3.11/site-packages"
BROKEN = """\
{'loss': 2.1, 'grad_norm': 1.2, 'learning_rate': 1.5e-05, 'epoch': 0.1}
{'loss': %s, 'grad_norm': %s, 'learning_rate': 1.5e-05, 'epoch': 0.2}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1.4e-05, 'epoch': 0.3}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1.3e-05, 'epoch': 0.4}
"""
CONFIG = "from trl import SFTConfig\nargs = SFTConfig(output_dir='o', %s)\n"
NO_LOSS = f"""\
Traceback (most recent call last):
  File "/job/train.py", line 18, in <module>
    trainer.train()
  File "{PACKAGES}/transformers/trainer.py", line 2192, in compute_loss
    raise ValueError(
ValueError: The model did not return a loss from the inputs, only the following keys: logits. For reference, the inputs it received are input_ids,attention_mask.
"""
NO_COLUMN = f"""\
Traceback (most recent call last):
  File "/job/train.py", line 7, in <module>
    train = load_dataset("json", data_files="pairs.jsonl", split="train").map(fmt)
  File "{PACKAGES}/datasets/arrow_dataset.py", line 3882, in apply_function
    processed_inputs = function(*fn_args, *additional_args, **fn_kwargs)
  File "%s", line 5, in %s
    return {{"prompt": row["question"]}}
  File "{PACKAGES}/datasets/formatting/formatting.py", line 299, in __getitem__
    value = self.data[key]
KeyError: '%s'
"""
RENAMED = """\
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

tokenizer = AutoTokenizer.from_pretrained("acme/model")
args = SFTConfig(
    output_dir="out",
    max_seq_length=256,
)
trainer = SFTTrainer(
    model="acme/model",
    args=args,
    tokenizer=tokenizer,
)
trainer.train()
"""
REFUSED = """\
Traceback (most recent call last):
  File "/job/train.py", line 5, in <module>
    args = SFTConfig(
TypeError: %s.__init__() got an unexpected keyword argument '%s'
"""
OTHERS = ("chosen", "rejected", "DPO", "KTO", "GRPO", "SFT")


def answer(folder: Path, log: str, script: str = "") -> dict[str, Any]:
    (folder / "job.log").write_text(log)
    (folder / "train.py").write_text(script)
    return diagnose([str(folder / "job.log"), *([str(folder / "train.py")] if script else [])])


def first(folder: Path, log: str, script: str = "") -> dict[str, Any]:
    causes: list[dict[str, Any]] = answer(folder, log, script)["causes"]
    return causes[0]


@pytest.mark.parametrize("script", ["", CONFIG % "bf16=True, learning_rate=1e-2", CONFIG % "fp16=True"])
def test_a_loss_that_jumped_before_it_broke_down_diverged(tmp_path: Path, script: str) -> None:
    assert first(tmp_path, BROKEN % (4.8, 88.2), script)["class"] == "lr-too-high-divergence"


def test_a_loss_that_broke_down_out_of_nothing_is_float16(tmp_path: Path) -> None:
    assert first(tmp_path, BROKEN % (2.0, 1.1))["class"] == "fp16-overflow-nan"


def test_settings_exclude_what_they_mend(tmp_path: Path) -> None:
    """`bf16=True` is the fix of an overflow in float16: the job that has it has another fault."""
    causes = answer(tmp_path, BROKEN % (2.0, 1.1), CONFIG % "bf16=True")["causes"]
    assert [cause["class"] for cause in causes] == ["lr-too-high-divergence"]


@pytest.mark.parametrize("settings", ["learning_rate=1e-2", "bf16=False", "fp16=True", "bf16=has_bf16()"])
def test_settings_that_leave_it_open_exclude_nothing(tmp_path: Path, settings: str) -> None:
    assert first(tmp_path, BROKEN % (2.0, 1.1), CONFIG % settings)["class"] == "fp16-overflow-nan"


def test_an_edit_that_is_made_already_is_not_told(tmp_path: Path) -> None:
    log = "RuntimeError: DataLoader worker (pid(s) 4711) exited unexpectedly\n"
    with_workers = first(tmp_path, log, CONFIG % "dataloader_num_workers=4")
    without = first(tmp_path, log, CONFIG % "dataloader_num_workers=0")
    assert [edit["from"] for edit in with_workers["remedy"] if edit["key"] == "train.dataloader_num_workers"] == [4]
    assert not [edit for edit in without["remedy"] or () if edit["key"] == "train.dataloader_num_workers"]


def test_the_evidence_in_a_script_is_the_line_that_passes_the_argument(tmp_path: Path) -> None:
    lines = [
        each
        for each in first(tmp_path, REFUSED % ("SFTConfig", "max_seq_length"), RENAMED)["evidence"]
        if "train.py" in each["path"]
    ]
    assert [each["text"].split("  [")[0] for each in lines] == ["max_seq_length=256,"]


def test_a_finding_about_another_argument_is_no_evidence(tmp_path: Path) -> None:
    evidence = first(tmp_path, REFUSED % ("SFTConfig", "packing_strategie"), RENAMED)["evidence"]
    assert not [each for each in evidence if "train.py" in each["path"]]


@pytest.mark.parametrize("trainer", ["sft", "dpo", "kto", "reward"])
def test_a_fix_for_rows_shows_no_columns_of_another_method(tmp_path: Path, trainer: str) -> None:
    log = (
        f'Traceback (most recent call last):\n  File "{PACKAGES}/trl/trainer/{trainer}_trainer.py", line 1296, in add_eos\n'
        "    not example[key].endswith(eos_token)\nAttributeError: 'NoneType' object has no attribute 'endswith'\n"
    )
    fix = first(tmp_path, log)["fix"]
    assert fix.endswith(".")
    assert not [name for name in OTHERS if name in fix and name.lower() != trainer]


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("AutoModelForSequenceClassification", "rename_column"),
        ("BertForTokenClassification", "DataCollatorForTokenClassification"),
        ("AutoModelForSeq2SeqLM", "DataCollatorForSeq2Seq"),
        ("AutoModelForCausalLM", "mlm=False"),
    ],
)
def test_a_fix_for_labels_suits_the_head(tmp_path: Path, model: str, wanted: str) -> None:
    others = {"rename_column", "DataCollatorForTokenClassification", "DataCollatorForSeq2Seq", "mlm=False"} - {wanted}
    for log, script in (
        (NO_LOSS, f"from transformers import {model}\n"),
        (f"Some weights of {model} were not initialized\n{NO_LOSS}", ""),
    ):
        fix = first(tmp_path, log, script)["fix"]
        assert wanted in fix
        assert not [other for other in others if other in fix]


def test_a_column_that_the_users_function_reads_is_not_the_trainers(tmp_path: Path) -> None:
    cause = first(tmp_path, NO_COLUMN % ("/job/train.py", "fmt", "question"))
    assert cause["cause"] == "Your own `fmt`, line 5 of train.py, reads `question`, which the rows do not have."
    assert "trainer" not in cause["fix"]


def test_a_column_that_the_trainers_function_reads_is_the_trainers(tmp_path: Path) -> None:
    place = f"{PACKAGES}/trl/trainer/dpo_trainer.py"
    cause = first(tmp_path, NO_COLUMN % (place, "extract_prompt", "rejected"))
    assert cause["cause"].startswith("The trainer reads a column")
    assert "DPO reads `chosen` and `rejected`" in cause["fix"]


def test_a_torch_without_cuda_is_named(tmp_path: Path) -> None:
    cause = first(tmp_path, "AssertionError: Torch not compiled with CUDA enabled\n")
    assert cause["cause"].startswith("The installed torch is a CPU build")
    assert cause["fix"].startswith("Install a CUDA build of torch")
    assert "CPU build" not in first(tmp_path, "RuntimeError: No CUDA GPUs are available\n")["cause"]


def test_a_reward_function_that_raised_is_named_with_what_it_raised(tmp_path: Path) -> None:
    log = f"""\
Traceback (most recent call last):
  File "{PACKAGES}/trl/trainer/grpo_trainer.py", line 1626, in _calculate_rewards
    output_reward_func = reward_func(
  File "/job/train.py", line 5, in accuracy
    return [int(each.split("=")[1]) for each in completions]
  File "/job/train.py", line 5, in <listcomp>
    return [int(each.split("=")[1]) for each in completions]
IndexError: list index out of range
"""
    cause = first(tmp_path, log)
    assert cause["evidence"][0]["text"] == "IndexError: list index out of range"
    assert "`accuracy`, line 5 of train.py, raised `IndexError: list index out of range`." in cause["cause"]


def test_what_is_to_be_changed_is_said_before_another_attempt(tmp_path: Path) -> None:
    told = unstyle(
        render_diagnosis(convert(answer(tmp_path, REFUSED % ("SFTConfig", "max_seq_length"), RENAMED), DiagnoseResult))
    )
    assert "edit rename `max_seq_length` to `max_length`" in told
    assert "retry after this edit:" in told
    assert "retry after the fix:" in unstyle(render_diagnosis(convert(answer(tmp_path, NO_LOSS), DiagnoseResult)))


def test_a_run_that_diverged_lost_nothing_by_not_being_saved(tmp_path: Path) -> None:
    steps = "".join(
        f"{{'loss': {loss}, 'grad_norm': 9.0, 'learning_rate': 5.0, 'epoch': {0.1 * (at + 1):.1f}}}\n"
        for at, loss in enumerate([5, 6, 7, *range(100, 1000, 100)])
    )
    end = "{'train_runtime': '0.7', 'train_loss': '1190', 'epoch': '1'}\n"
    script = CONFIG % "save_strategy='no'"
    assert first(tmp_path, steps + end, script)["class"] == "lr-too-high-divergence"
