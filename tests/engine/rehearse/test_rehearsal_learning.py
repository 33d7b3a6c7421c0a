"""What a rehearsal foretells of the job at its full size is what the job then does."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from holdfast.core.rehearse.rehearsal import LearntFigures, PartResult, TokenFigures
from holdfast.core.rows.scan import Lengths, Tokens
from holdfast.engine.inspect.inspection import report_tokens
from holdfast.engine.rehearse.learning import learn
from holdfast.results.inspect import TokenReport
from tests.helpers.rehearsal_jobs import Job, job
from tests.helpers.rehearsing import Rehearse, rehearsals
from tests.helpers.tiny import quiet_environment

ASKED: Mapping[str, Any] = {
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 8,
    "max_steps": -1,
    "num_train_epochs": 3.0,
    "optim": "adamw_torch_fused",
}
TOKENS = report_tokens(
    Tokens(rows=1000, lengths=Lengths(p50=90, p95=700, max=9000, mean=100.0), max_length=512, of=1000, units=1000)
)
MODEL = {"parameters": 1_000_000, "dtype": "bfloat16", "linear": {"q_proj": 4096, "v_proj": 2304}}
SAY = """
class Say(TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        print("steps", state.max_steps, flush=True)
"""
LORA = "peft_config=LoraConfig(r=4, target_modules='all-linear'), callbacks=[Say()]"


def learnt(asked: Mapping[str, Any] = ASKED, tokens: TokenReport | None = None, **facts: Any) -> LearntFigures:
    """Return what is learnt of some facts, given by what they are about."""
    told = [{"event": "fact", "about": about, **fact} for about, fact in facts.items()]
    training = {"event": "fact", "about": "training", "arguments": {**ASKED, **asked}}
    return learn(PartResult(part="whole", code=0, hook_events=(training, *told)), tokens)


def test_rows_and_tokens_are_those_of_the_settings_that_were_asked_for() -> None:
    found = learnt(tokens=TOKENS, rows={"role": "train", "rows": 1000})

    assert found.rows_per_step == 32
    assert found.tokens_per_row == TokenFigures(mean=100.0, p95=512, max=512)
    assert found.tokens_per_step == TokenFigures(mean=3200.0, p95=16384, max=16384)
    assert (found.steps_per_epoch, found.steps) == (32, 96)


def test_packs_are_counted_in_place_of_rows() -> None:
    found = learnt(
        {"packing": True}, structs.replace(TOKENS, units=200, packed=0.9), rows={"role": "train", "rows": 5000}
    )

    assert found.tokens_per_step == TokenFigures(mean=32 * 512 * 0.9, max=16384)
    assert found.steps_per_epoch == 32  # 1000 packs


def test_a_stream_has_no_epoch_and_as_many_steps_as_were_asked_for() -> None:
    found = learnt({"max_steps": 500}, rows={"role": "train", "rows": None})
    assert (found.steps, found.steps_per_epoch) == (500, None)


def test_a_checkpoint_of_an_adapter_is_its_matrices_and_their_optimizer() -> None:
    lora = {"r": 8, "modules": ["q_proj", "v_proj"], "dtype": "float32"}
    found = learnt(model=MODEL, trained={"lora": lora, "whole": False})

    assert found.trained_parameters == 8 * (4096 + 2304)
    assert found.checkpoint_bytes == found.trained_parameters * 4 * 3


def test_a_checkpoint_of_a_whole_model_is_in_its_own_type() -> None:
    assert learnt(model=MODEL, trained={"whole": True}).checkpoint_bytes == 6_000_000
    only = learnt({"save_only_model": True}, model=MODEL, trained={"whole": True})
    assert only.checkpoint_bytes == 2_000_000


@pytest.mark.parametrize("asked", [{"optim": "adamw_bnb_8bit"}, {"optim": "adafactor"}])
def test_of_an_optimizer_that_was_not_tried_no_bytes_are_foretold(asked: Mapping[str, Any]) -> None:
    found = learnt(asked, model=MODEL, trained={"whole": True})
    assert found.checkpoint_bytes is None


JOBS = {
    each.name: each
    for each in (
        job(
            "whole-odd-rows",
            "SFT",
            shape="dataset = dataset.select(range(53))",
            settings="num_train_epochs=2, gradient_accumulation_steps=3, bf16=False, use_cpu=True",
            top=SAY,
            given="callbacks=[Say()]",
        ),
        job("adapter", "DPO", settings="max_steps=3, bf16=False, use_cpu=True", top=SAY, given=LORA),
        job(
            "groups",
            "GRPO",
            shape="dataset = dataset.select(range(13))",
            settings="per_device_train_batch_size=8, gradient_accumulation_steps=2, num_iterations=2, max_completion_length=4,"
            "bf16=False, use_cpu=True",
            top=SAY,
            given="callbacks=[Say()]",
        ),
    )
}


@pytest.fixture(scope="module", name="rehearse")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rehearse, Path]]:
    """What rehearses a job, and the folder that jobs run in."""
    folder = tmp_path_factory.mktemp("learning")
    with rehearsals(folder) as rehearse:
        yield rehearse, folder / "world"


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("name", JOBS)
def test_the_job_does_what_was_foretold(name: str, rehearse: tuple[Rehearse, Path]) -> None:
    """As many steps, and checkpoints of as many bytes but for what files have around tensors."""
    ask, world = rehearse
    found = learn(PartResult(part="whole", code=0, hook_events=ask(JOBS[name]).facts), tokens=None)
    steps, size = really(JOBS[name], world)

    assert found.steps == steps
    assert found.checkpoint_bytes is not None
    assert found.checkpoint_bytes <= size <= found.checkpoint_bytes * 1.05 + 40_000


def really(asked: Job, world: Path) -> tuple[int, int]:
    """Train, and return the steps and the bytes of the model and the optimizer in the last checkpoint."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", f"{asked.name}.py"],
        cwd=world,
        env=quiet_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    steps = next(int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("steps "))
    checkpoint = max((world / "out" / asked.name).glob("checkpoint-*"), key=os.path.getmtime)
    files = [*checkpoint.glob("*model*.safetensors"), checkpoint / "optimizer.pt"]
    return steps, sum(each.stat().st_size for each in files)
