"""A file of settings that a shell script names, and that is not there, is reported where it is named."""

from pathlib import Path
from typing import Any

import pytest

import holdfast

SCRIPT = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
TRL = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with a script, a recipe beside it, and a folder for shell scripts, in which holdfast runs."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "recipe.yaml").write_text("learning_rate: 1.0e-5\n")
    (tmp_path / "jobs").mkdir()
    monkeypatch.chdir(tmp_path)


def findings(text: str, path: str = "run.sh") -> list[tuple[int, int, str]]:
    """Return line, column and message of the files that a shell script names and that are not there."""
    Path(path).write_text(f"#!/bin/bash\n{text}\n")
    answer: dict[str, Any] = holdfast.check(path, offline=True, select="ARG123")["targets"][0]
    return [(each["line"], each["column"], each["message"]) for each in answer["findings"]]


@pytest.mark.parametrize(
    ("line", "column", "name"),
    [
        (f"{TRL} --config gone.yaml", 89, "gone.yaml"),
        (f"{TRL} --config=recipes/gone.yaml", 80, "recipes/gone.yaml"),
        ("accelerate launch --config_file gone.yaml train.py", 33, "gone.yaml"),
        ("cd jobs && accelerate launch --config_file recipe.yaml ../train.py", 44, "recipe.yaml"),
    ],
)
def test_a_file_that_is_not_there_is_reported(line: str, column: int, name: str) -> None:
    """Of TRL's commands and of accelerate's, in either spelling of an option."""
    assert findings(line) == [(2, column, f"there is no file `{name}`")]


@pytest.mark.parametrize(
    "text",
    [
        f"{TRL} --config recipe.yaml",
        f"{TRL} --config $RECIPE.yaml",
        f"cat > gone.yaml <<END\nlearning_rate: 1.0e-5\nEND\n{TRL} --config gone.yaml",
        f"python make_recipe.py --out gone.yaml\n{TRL} --config gone.yaml",
        f"git clone https://github.com/acme/recipes\n{TRL} --config recipes/gone.yaml",
        f'cd "$PROJECT"\n{TRL} --config gone.yaml',
        f"cd /scratch/project\n{TRL} --config gone.yaml",
        f"hf jobs uv run --flavor a10g-small {TRL} --config gone.yaml",
    ],
)
def test_a_file_that_may_be_there_when_the_command_runs_is_not_reported(text: str) -> None:
    """It is there, the shell script makes it or brings it along, or the command runs elsewhere."""
    assert findings(text) == []


def test_a_shell_script_in_a_folder_finds_the_files_of_its_project() -> None:
    """It is usually started from the folder above."""
    Path(".git").mkdir()
    assert findings(f"{TRL} --config recipe.yaml", "jobs/run.sh") == []
