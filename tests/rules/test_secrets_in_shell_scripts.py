"""A secret that a shell script exports is reported where it stands, whatever its commands run."""

from pathlib import Path

import pytest

from holdfast import check

KEY = "0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b"
SCRIPT = 'from trl import SFTTrainer\n\nSFTTrainer("Qwen/Qwen2.5-0.5B", train_dataset=rows)\n'
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name a/b"


@pytest.mark.parametrize("command", ["torchrun train.py", COMMAND])
@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"export HF_TOKEN=hf_{KEY}", 1),
        (f'export WANDB_API_KEY="{KEY}"', 1),
        (f"WANDB_API_KEY={KEY}\nexport WANDB_API_KEY", 2),
        ("export WANDB_API_KEY=$(cat key)", 0),
        ("export WANDB_API_KEY=$1", 0),
        ("export WANDB_API_KEY=your-key-of-wandb", 0),
        ("export TOKENIZERS_PARALLELISM=false", 0),
    ],
)
def test_an_exported_secret_is_an_error_and_not_shown(line: str, found: int, command: str, tmp_path: Path) -> None:
    """At the line that exports it; what comes from elsewhere is none."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "run.sh").write_text(f"{line}\n{command}\n")
    findings = check(str(tmp_path / "run.sh"), offline=True, select="HUB103")["targets"][0]["findings"]
    assert [each["line"] for each in findings] == ([found] if found else [])
    assert all(KEY not in each["message"] for each in findings)
