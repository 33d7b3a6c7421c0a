"""What a check keeps of files that name folders through options of their own."""

from pathlib import Path

import pytest

import holdfast

SCRIPT = """\
import argparse
from trl import SFTConfig, SFTTrainer
parser = argparse.ArgumentParser()
parser.add_argument("--model", default="./tiny")
args = parser.parse_args()
SFTTrainer(model=args.model, args=SFTConfig("out{0}", report_to="none"), train_dataset=None).train()
"""


def codes(*targets: str) -> list[str]:
    found = holdfast.check(targets, offline=True, set={"where.backend": "local"})
    return [each["code"] for target in found["targets"] for each in target["findings"]]


def test_a_folder_that_is_made_meanwhile_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named by the default of an option alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number in range(2):
        Path(f"train{number}.py").write_text(SCRIPT.replace("{0}", str(number)))
    assert codes("train0.py", "train1.py").count("MOD108") == 2

    Path("tiny").mkdir()
    Path("tiny/config.json").write_text('{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}')
    assert "MOD108" not in codes("train0.py", "train1.py")
