"""The rows that `plan` measures are those that the released trainers put into their batches."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters.targets import read_target
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.app.plan.measuring import measure_trained_rows
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.methods import Method
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.plan.duration import padded_length
from tests.helpers.forked import fork
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`
from tests.helpers.training_steps import training_step

BATCHES = """
import json, sys
from datasets import load_dataset
from trl import DPOConfig, DPOTrainer, RewardConfig, RewardTrainer, SFTConfig, SFTTrainer
method, model, rows, settings = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
config, trainer = {"sft": (SFTConfig, SFTTrainer), "dpo": (DPOConfig, DPOTrainer), "reward": (RewardConfig, RewardTrainer)}[method]
made = trainer(
    model=model,
    args=config(output_dir="out", report_to="none", use_cpu=True, bf16=False, **settings),
    train_dataset=load_dataset("json", data_files=rows, split="train"),
)
tokens, batches = 0, 0
for epoch in range(3):
    loader = made.get_train_dataloader()
    loader.set_epoch(epoch)
    for batch in loader:
        tokens += batch["input_ids"].numel()
        batches += 1
print(json.dumps([tokens / batches, batches / 3]))
"""

SCRIPT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("json", data_files="{rows}", split="train")
SFTTrainer(model="{model}", args=SFTConfig(output_dir="out", max_length=512), train_dataset=rows).train()
"""


@dataclass(frozen=True)
class Case:
    """A method with its settings, and rows that it takes."""

    method: str
    batch: int
    settings: dict[str, Any]
    seed: int


CASES = (
    Case("sft", 4, {"max_length": 96}, 1),
    Case("sft", 2, {"max_length": 64, "packing": True, "packing_strategy": "wrapped"}, 2),
    Case("sft", 3, {"max_length": 80, "packing": True}, 3),
    Case("dpo", 3, {"max_length": 128}, 4),
    Case("reward", 2, {"max_length": 60}, 5),
)


def write_rows(path: Path, method: str, seed: int) -> None:
    """Write rows of very different lengths, most of them short."""
    chance = random.Random(seed)  # noqa: S311 - no secret

    def text() -> str:
        return " ".join(
            chance.choice(("red", "a", "printer", "42")) for _ in range(int(chance.expovariate(1 / 15)) + 1)
        )

    pair = method != "sft"
    rows = [
        {"prompt": text(), "chosen": text(), "rejected": text()} if pair else {"text": text()}
        for _ in range(chance.randint(150, 260))
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.mark.train
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.method}-{case.seed}")
def test_tokens_of_a_micro_batch_and_batches_of_an_epoch_are_those_of_the_trainer(
    case: Case, tiny: Path, tmp_path: Path
) -> None:
    write_rows(tmp_path / "rows.jsonl", case.method, case.seed)
    settings = {**case.settings, "per_device_train_batch_size": case.batch}
    argv = ["-c", BATCHES, case.method, str(tiny), str(tmp_path / "rows.jsonl"), json.dumps(settings)]
    trained = fork(argv, tmp_path, quiet_environment())
    assert trained.exit_code == 0, trained.stderr
    tokens, batches = json.loads(trained.stdout.splitlines()[-1])

    lengths = measure(write_job(tmp_path, case.method, tiny, settings))
    packed = case.settings.get("packing") is True
    flat = packed and case.settings.get("packing_strategy") != "wrapped"
    step = training_step(
        method=Method(case.method), batch=case.batch, length=case.settings["max_length"], flattened=flat
    )
    assert step.rows * padded_length(step, lengths) == pytest.approx(tokens, rel=0.06)
    assert -(-lengths.units // case.batch) == pytest.approx(batches, rel=0.02)


def write_job(folder: Path, method: str, model: Path, settings: dict[str, Any], **more: Any) -> Path:
    """Write a job file that trains on the rows of a folder."""
    job = {"method": method, "model": str(model), "dataset": str(folder / "rows.jsonl"), "train": settings, **more}
    path = folder / "job.yaml"
    path.write_text(json.dumps(job), encoding="utf-8")
    return path


def measure(job: Path) -> RowLengths:
    document = read_target(str(job)).document
    outside = open_outside(document, HubAccess.OFFLINE)
    return measure_trained_rows(document, stack_api(), outside, HubAccess.OFFLINE)


def plan_on_l4(job: Path, **sets: object) -> dict[str, Any]:
    return holdfast.plan(job, set={"where.backend": "hf-jobs", **sets}, hardware="l4x1", offline=True)


@pytest.mark.train
def test_short_rows_take_less_time_than_the_longest_allowed_and_packed_ones_less_again(
    tiny: Path, tmp_path: Path
) -> None:
    """The rows of the model's own tokenizer count: with one row a batch, no padding; in packs, fewer steps."""
    write_rows(tmp_path / "rows.jsonl", "sft", 6)
    settings = {"max_length": 4096, "max_steps": -1, "per_device_train_batch_size": 1, "num_train_epochs": 300}
    job = write_job(tmp_path, "sft", tiny, settings)
    plain, packed = plan_on_l4(job), plan_on_l4(job, **{"train.packing": True})
    unread = plan_on_l4(job, **{"dataset.map": "rewrite.py:rewrite"})
    assert packed["time_s"]["high"] < plain["time_s"]["high"]
    assert packed["time_s"]["value"] < 0.2 * plain["time_s"]["value"]
    assert plain["time_s"]["high"] <= unread["time_s"]["high"]  # a step of so small a model is its launches
    assert any("tokens on average" in reason for reason in plain["because"])
    assert any("packs is filled" in reason for reason in packed["because"])
    (why,) = [reason for reason in unread["because"] if "each row to have 4096 tokens" in reason]
    assert "`rewrite.py:rewrite` rewrites them" in why


@pytest.mark.train
@pytest.mark.parametrize("longest", [12, 900])
def test_the_longest_prompt_decides_the_memory_of_a_method_that_generates(
    longest: int, tiny: Path, tmp_path: Path
) -> None:
    """Once 512 tokens were taken of every prompt, whatever the rows."""
    from transformers import AutoTokenizer

    prompts = [" ".join(["red"] * count) for count in (*range(1, 12), longest)]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps({"prompt": each}) for each in prompts), encoding="utf-8")
    job = write_job(tmp_path, "grpo", tiny, {"max_completion_length": 16}, rewards=["rewards.py:score"])
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    counts = sorted(len(tokenizer(each)["input_ids"]) for each in prompts)
    assert measure(job).tokens == counts
    measured, unread = plan_on_l4(job), plan_on_l4(job, **{"dataset.map": "rewrite.py:rewrite"})
    assert f"the longest of 12 prompts that were tokenized has {counts[-1]} tokens" in measured["because"]
    assert any("prompts of 512 tokens" in reason for reason in unread["because"])
    assert any("`rewrite.py:rewrite` rewrites them" in reason for reason in unread["because"])
    less = measured["memory"]["allocated_bytes"] < unread["memory"]["allocated_bytes"]
    assert less == (counts[-1] < 512)


@pytest.mark.train
def test_a_script_that_trains_on_a_file_is_measured(tiny: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", "sft", 7)
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(model=tiny, rows=tmp_path / "rows.jsonl"), encoding="utf-8")
    result = holdfast.plan(script, hardware="l4x1", offline=True)
    assert any("tokens on average" in reason for reason in result["because"]), result["because"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"dataset": "trl-lib/Capybara"}, "not in files of this machine"),
        ({"dataset": {"path": "builtin:tiny-chat"}}, "holdfast makes"),
        ({"dataset": {"path": "rows.jsonl", "map": "a.py:b"}}, "rewrites them"),
    ],
)
def test_rows_that_cannot_be_measured_are_said(more: dict[str, Any], why: str, tmp_path: Path) -> None:
    job = write_job(tmp_path, "sft", Path("Qwen/Qwen3-8B"), {}, **more)
    with pytest.raises(MissingFactError, match=why):
        measure(job)
