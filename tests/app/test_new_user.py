"""A new user's path: installed as from the registry, in a repository of their own, without reading anything."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from tests.cli.test_manners_ci import ROOT, git
from tests.engine.formats.test_sarif import SUBSET

HEADER = "# /// script\n# dependencies = ['trl==1.16.0', 'transformers==5.23.0']\n# ///\n"
STALE = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", max_seq_length=512, seed=1)  # as the tutorial has it
rows = load_dataset("trl-lib/Capybara", split="train")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, tokenizer=None)
trainer.train()
"""
GOOD = STALE.replace("max_seq_length", "max_length").replace(", tokenizer=None", "")
MOVED = "from trl import PPOConfig\n\nconfig = PPOConfig(output_dir='out')\n"


@pytest.fixture(scope="module")
def holdfast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, in a new environment with the base install alone."""
    folder = tmp_path_factory.mktemp("installed")
    ours, uv = folder / "ours", Path(sys.executable).with_name("uv")
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "src", "*.*").split(
        "\0"
    ):
        if name and (ROOT / name).is_file():
            (ours / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, ours / name)
    subprocess.run([str(uv), "venv", "--quiet", "--python", sys.executable, str(folder / "venv")], check=True)
    options = ["--quiet", "--python", str(folder / "venv"), "--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([str(uv), "pip", "install", *options, str(ours)], check=True)
    return folder / "venv" / "bin" / "holdfast"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three scripts and a notebook: one script is good, one stale with a safe fix, one that a person has to fix."""
    cell: dict[str, object] = {
        "cell_type": "code",
        "source": STALE,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    files = {
        "sft.py": HEADER + STALE,
        "good.py": HEADER + GOOD,
        "old/ppo.py": HEADER + MOVED,
        "sft.ipynb": json.dumps(notebook, indent=1) + "\n",
        "requirements.txt": "trl==1.16.0\ntransformers==5.23.0\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    return tmp_path


def test_the_path_of_a_new_user(holdfast: Path, repository: Path) -> None:
    """Check, look at the fixes, make them, check again, hand the rest to a code host."""

    def ask(*words: str) -> tuple[int, str]:
        told = subprocess.run([holdfast, *words], cwd=repository, check=False, capture_output=True, text=True)
        assert "Traceback" not in told.stdout + told.stderr
        return told.returncode, told.stdout

    code, told = ask("check", ".")
    assert code == 1
    assert {line.split(":")[0] for line in told.splitlines() if ": ARG101 " in line} == {"sft.py", "sft.ipynb"}
    assert "old/ppo.py:4:17: IMP101" in told
    assert "good.py:" not in told

    before = {path: path.read_bytes() for path in repository.rglob("*.[pi]*") if path.is_file()}
    code, told = ask("check", ".", "--fix", "--diff")
    assert "-args = SFTConfig" in told
    assert {path: path.read_bytes() for path in before} == before

    ask("check", ".", "--fix")
    assert "max_length=512, seed=1)  # as the tutorial has it" in (repository / "sft.py").read_text()
    assert "max_length=512" in (repository / "sft.ipynb").read_text()
    assert (repository / "good.py").read_bytes() == before[repository / "good.py"]

    code, told = ask("check", ".", "--format", "sarif")
    log = json.loads(told)
    Draft7Validator(SUBSET).validate(log)
    assert "ARG101" not in {result["ruleId"] for result in log["runs"][0]["results"]}

    code, told = ask("check", "sft.py", "good.py")
    assert code == 0, told
