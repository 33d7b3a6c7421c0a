"""What scripts with injected faults read: tiny models whole and damaged, checkpoints, files of rows.

    make_world(Path("somewhere"))      # makes somewhere/work/…
    python -m tests.helpers.fault_world FOLDER

Each damage is what really happens to such files: cut off, lost, of another shape, of another size of vocabulary.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.helpers.tiny import make_tiny, quiet_environment
from tests.helpers.tiny_vision import make_tiny_vision

ROOT = Path(__file__).parents[2]
TRAIN = """
import sys
from datasets import Dataset
from trl import SFTTrainer, SFTConfig
rows = [{"messages": [{"role": "user", "content": f"{i} plus 1 equals?"}, {"role": "assistant", "content": f"{i + 1}."}]} for i in range(32)]
config = SFTConfig(output_dir=sys.argv[1], max_steps=8, per_device_train_batch_size=4, logging_steps=1, report_to="none", learning_rate=1e-3, bf16=False, use_cpu=True, save_steps=4)
SFTTrainer(model="work/tiny", args=config, train_dataset=Dataset.from_list(rows)).train()
"""
STRICT = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_world(folder: Path) -> None:
    """Make all that the scripts read, in a process that imports the libraries."""
    subprocess.run(
        [sys.executable, "-m", "tests.helpers.fault_world", str(folder)], check=True, env=quiet_environment(), cwd=ROOT
    )


def _make(folder: Path) -> None:
    work = folder / "work"
    work.mkdir(parents=True)
    make_tiny(work / "tiny")
    make_tiny_vision(work / "tiny_vision", work / "tiny")
    for name, damage in DAMAGES.items():
        shutil.copytree(work / "tiny", work / name)
        damage(work / name)
    os.chdir(folder)
    (folder / "train.py").write_text(TRAIN)
    subprocess.run([sys.executable, "train.py", "work/ck_good"], check=True, cwd=folder, capture_output=True)
    for name, hurt in HURT.items():
        shutil.copytree(work / "ck_good", work / name)
        for checkpoint in (work / name).glob("checkpoint-4"):
            hurt(checkpoint)


def _edit(name: str, **values: Any) -> Callable[[Path], None]:
    """Change values of a JSON file; None takes one away."""

    def edit(folder: Path) -> None:
        told = {**json.loads((folder / name).read_text()), **values}
        (folder / name).write_text(json.dumps({key: value for key, value in told.items() if value is not None}))

    return edit


def _cut(name: str) -> Callable[[Path], None]:
    """Cut a file off in its middle."""

    def cut(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return cut


def _write(name: str, text: str) -> Callable[[Path], None]:
    """Write a text in place of a file."""

    def write(folder: Path) -> None:
        (folder / name).write_text(text)

    return write


def _lose(*names: str) -> Callable[[Path], None]:
    def lose(folder: Path) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)

    return lose


def _spoil(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """Change the tensors of a model."""

    def spoil(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return spoil


def _make_nan(tensors: dict[str, Any]) -> None:
    for each in tensors.values():
        each.fill_(float("nan"))


def _make_narrow(tensors: dict[str, Any]) -> None:
    name = next(each for each in tensors if each.endswith("q_proj.weight"))
    tensors[name] = tensors[name][:, :-8].contiguous()


def _make_small(folder: Path) -> None:
    """Give a model a smaller vocabulary than its tokenizer has."""
    _spoil(
        lambda tensors: tensors.update(
            {"model.embed_tokens.weight": tensors["model.embed_tokens.weight"][:100].clone()}
        )
    )(folder)
    _edit("config.json", vocab_size=100)(folder)


def _template(text: str) -> Callable[[Path], None]:
    return _write("chat_template.jinja", text)


def _break(folder: Path) -> None:
    (folder / "config.json").write_text('{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",')


REMOTE = {"AutoConfig": "configuration_own.OwnConfig", "AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}
DAMAGES: dict[str, Callable[[Path], None]] = {
    "tiny_strict": _template(STRICT),
    "tiny_vocab": _make_small,
    "tiny_trunc": _cut("model.safetensors"),
    "tiny_shape": _spoil(_make_narrow),
    "tiny_remote": _edit("config.json", model_type="own", auto_map=REMOTE, architectures=["OwnForCausalLM"]),
    "tiny_nowt": _lose("model.safetensors"),
    "tiny_notok": _lose("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"),
    "tiny_nopad": _edit("tokenizer_config.json", pad_token=None),
    "tiny_noeos": _edit("tokenizer_config.json", pad_token=None, eos_token=None),
    "tiny_nan": _spoil(_make_nan),
    "tiny_badcfg": _break,
}
"""Models that something is wrong with."""
HURT: dict[str, Callable[[Path], None]] = {
    "ck_zero_state": _write("trainer_state.json", ""),
    "ck_trunc_optim": _cut("optimizer.pt"),
    "ck_trunc_model": _cut("model.safetensors"),
    "ck_no_sched": _lose("scheduler.pt"),
    "ck_no_rng": _lose("rng_state.pth"),
    "ck_no_optim": _lose("optimizer.pt"),
}
"""Checkpoints that something is wrong with."""

if __name__ == "__main__":
    _make(Path(sys.argv[1]))
