"""Commands that start nothing because of a misspelt word, and those that only look so."""

import shlex
from pathlib import Path

import pytest

from holdfast import check
from holdfast.catalog.environment.misspelt_commands import misspelt_word

MISSPELT = {
    "accelerate lunch train.py": "launch",
    "accelerate luanch --num_processes 2 train.py": "launch",
    "acelerate launch train.py": "accelerate",
    "torchrunn --nproc_per_node 2 train.py": "torchrun",
    "trochrun train.py": "torchrun",
    "deepsped train.py": "deepspeed",
    "trl sftt --model_name_or_path x": "sft",
    "trl gpro": "grpo",
    "python -m accelerate.commands.lunch train.py": "accelerate.commands.launch",
    "python -m torch.distributed.lanch train.py": "torch.distributed.launch",
    "python -m trl.script.sft": "trl.scripts.sft",
    "axolotl trian recipe.yaml": "train",
}
LEFT_ALONE = (
    "accelerate launch train.py",
    "accelerate config",
    "accelerate test",
    "accelerate merge-weights a b",
    "accelerate --help",
    "accelerate $COMMAND train.py",
    "trl env",
    "trl chat --model_name_or_path x",
    "trl vllm-serve --model x",
    "torchrun train.py",
    "torchrun2 train.py",
    "torchrunx train.py",
    "torchrun_local train.py",
    "./torchrunn train.py",
    "torchrunn --help",
    "python -m torch.distributed.launcher train.py",
    "python -m torch.distributed.rpc",
    "python -m accelerate.commands.config",
    "python -m accelerates train.py",
    "axolotl preprocess recipe.yaml",
    "llamafactory-cli chat x",
)


@pytest.mark.parametrize(("line", "meant"), [*MISSPELT.items(), *((line, None) for line in LEFT_ALONE)])
def test_a_word_is_misspelt_or_left_alone(line: str, meant: str | None) -> None:
    """Only what is nearly the word of a launcher, where such a word stands."""
    found = misspelt_word(shlex.split(line))
    assert (found.meant if found else None) == meant


def test_a_misspelt_command_is_reported_and_checked_as_it_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind other launchers too, and in a folder; what the command gives its script is checked all the same."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("from trl import SFTConfig\nSFTConfig(max_seq_length=1)\n")
    Path("run.sh").write_text("cd .\nCUDA_VISIBLE_DEVICES=0 srun accelerate lunch --mixed_precison bf16 train.py\n")
    for target in ("run.sh", "."):
        found = [
            (each["code"], each["path"], each["column"])
            for answer in check(target, offline=True, select=["DST11", "ARG101"])["targets"]
            for each in answer["findings"]
        ]
        assert ("DST113", "run.sh", 40) in found
        assert ("DST112", "run.sh", 46) in found
        assert any(each[:2] == ("ARG101", "train.py") for each in found)
