"""What the Hub would refuse is found before launch, and a push that it refused without a word is found after it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub.weights import weights
from tests.helpers.sampling import sampled
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

JOB = """\
method: sft
model: acme/tiny
dataset: {path: acme/chats, split: train}
train: {max_steps: 1}
output: {push_to: me/tuned}
"""
CHAT = {"messages": [{"role": "user", "content": "2 plus 2?"}, {"role": "assistant", "content": "four"}]}
CHATS = "".join(json.dumps(CHAT) + "\n" for _ in range(20)).encode()
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "vocab_size": 64,
    "max_position_embeddings": 2048,
}
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
MODEL = {
    "config.json": json.dumps(CONFIG).encode(),
    "tokenizer.json": b"{}",
    "tokenizer_config.json": json.dumps({"chat_template": TEMPLATE}).encode(),
    "model.safetensors": weights(dtype="F32", **{"model.embed_tokens.weight": [64, 4]}),
}


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    """A Hub with a dataset and a model, and a token that may do all that the job needs."""
    with loopback_hub() as hub:
        hub.add_user("acme")
        hub.add_dataset("acme/chats", {"train.jsonl": CHATS})
        hub.add_model("acme/tiny", MODEL)
        yield hub


def type_there(hub: LoopbackHub, folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Type a command that answers in JSON, where the Hub is the one on loopback."""
    unrehearsed = ["--no-rehearse"] if words[0] == "run" else []
    asked = [sys.executable, "-m", "holdfast", *words, *unrehearsed, "--format", "json"]
    environment = {**os.environ, **hub.variables, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(asked, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


FAULTS = {
    "DAT107": ("acme/chats", "acme/chat"),
    "DAT111": ("split: train", "split: training"),
    "MOD109": ("acme/tiny", "acme/gated"),
    "HUB111": ("me/tuned", "nobody/tuned"),
    "HUB110": ("", ""),
}


@pytest.mark.parametrize("code", sampled(FAULTS, 3))
def test_a_run_is_refused_for_what_the_hub_would_refuse(code: str, hub: LoopbackHub, tmp_path: Path) -> None:
    """Wrong name, missing split, gated model, missing namespace, read-only token: nothing is started, and each is told."""
    hub.add_model("acme/gated", MODEL, gated="manual")
    if code == "HUB110":
        hub.add_token("hf_reads", user="me", role="read")
        hub.token = "hf_reads"  # noqa: S105 - of a Hub that ends with the test
    (tmp_path / "job.yaml").write_text(JOB.replace(*FAULTS[code]))

    exit_code, told = type_there(hub, tmp_path, "run", "job.yaml", "--quiet")

    errors = {
        finding["code"]
        for target in told["check"]["targets"]
        for finding in target["findings"]
        if finding["severity"] == "error"
    }
    assert errors == {code}
    assert (exit_code, told["stage"], told["attempts"]) == (1, "failed", [])
    assert hub.created == []
    assert told["because"] == f"refused by check: {code}"


def test_a_job_that_the_hub_would_take_has_no_finding(hub: LoopbackHub, tmp_path: Path) -> None:
    """And every rule about the Hub was asked."""
    (tmp_path / "job.yaml").write_text(JOB)

    exit_code, told = type_there(hub, tmp_path, "check", "job.yaml")

    (target,) = told["targets"]
    assert (exit_code, target["findings"]) == (0, [])
    assert [skip for skip in target["skipped"] if skip["code"].startswith(("HUB", "DAT", "MOD"))] == []


SCRIPT = """
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    "out", max_steps=2, save_steps=1, push_to_hub=True, hub_model_id="me/tuned", hub_strategy="every_save",
    report_to="none", use_cpu=True, bf16=False, logging_steps=1, per_device_train_batch_size=2,
)
rows = Dataset.from_list([{"text": f"{n} plus 2 equals {n + 2}."} for n in range(8)])
trainer = SFTTrainer(MODEL, args=args, train_dataset=rows)
trainer.train()
"""


@pytest.mark.long
@pytest.mark.train
@pytest.mark.parametrize("refused", sampled([True, False], 2))
def test_a_push_that_failed_without_a_word_is_found(
    *, refused: bool, hub: LoopbackHub, tiny: Path, tmp_path: Path
) -> None:
    """Training ends well either way; the run does only if its weights are on the Hub."""
    (tmp_path / "train.py").write_text(SCRIPT.replace("MODEL", repr(str(tiny))))
    if refused:
        hub.refuse_commits()

    exit_code, told = type_there(hub, tmp_path, "run", "train.py", "--quiet", "--despite", "HUB104")

    assert told["attempts"][0]["stage"] == "succeeded"
    (delivery,) = told["deliveries"]
    if refused:
        assert (exit_code, told["stage"], delivery["verdict"]) == (1, "failed", "missing")
        assert "me/tuned lacks pushed files, or has others" in told["because"]
    else:
        assert (exit_code, told["stage"], delivery["verdict"]) == (0, "succeeded", "arrived")
        assert told["pushed"] == "me/tuned"
