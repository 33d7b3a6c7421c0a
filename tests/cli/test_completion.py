"""What a shell completes: commands, options, runs, rules, classes of failure, keys and files."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app import VERBS
from holdfast.cli.main import run_command
from holdfast.core.run.event import RunRequested
from holdfast.rules import all_rules, rule_names
from holdfast.signatures import all_signatures, class_names


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    for at_s, name in enumerate(("sft-1", "dpo-2")):
        Ledger(tmp_path / "runs").append(name, [RunRequested(at_s=at_s, folder=f"runs/{name}")])
    return tmp_path


def complete(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    """What bash is given for the last word of a command line."""
    words = line.split(" ")
    for name, value in {"COMPLETE": "bash_complete", "WORDS": line, "CWORD": str(len(words) - 1)}.items():
        monkeypatch.setenv(f"_HOLDFAST_{name}" if name == "COMPLETE" else f"COMP_{name}", value)
    with pytest.raises(SystemExit):
        run_command([])
    return [found.partition(",")[2] for found in capsys.readouterr().out.splitlines() if found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("holdfast ch", ["check"]),
        ("holdfast check --statis", ["--statistics"]),
        ("holdfast check --format j", ["json"]),
        ("holdfast check --select MOD12", [f"MOD12{digit}" for digit in range(10)]),
        ("holdfast run job.yaml --despite HUB10", [f"HUB10{digit}" for digit in range(1, 10)]),
        ("holdfast explain renamed", ["renamed-argument"]),
        ("holdfast explain arg101", ["ARG101"]),
        ("holdfast explain cuda-oom-e", ["cuda-oom-eval"]),
        ("holdfast explain dataset.ro", ["dataset.rows"]),
        ("holdfast run job.yaml --set train.learning", ["train.learning_rate="]),
        ("holdfast check job.yaml --set where.time", ["where.timeout="]),
        ("holdfast run job.yaml --set peft.lora_al", ["peft.lora_alpha="]),
        ("holdfast show ", ["dpo-2", "sft-1"]),
        ("holdfast resume sf", ["sft-1"]),
        ("holdfast logs --runs elsewhere ", []),
        ("holdfast diagnose dp", ["dpo-2"]),
        ("holdfast diagnose slurm", ["slurm"]),
        ("holdfast check train", ["train"]),
    ],
)
def test_words_are_completed(
    line: str, found: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command, the option, and what lies in the runs folder; of a file, the shell is told to look."""
    assert complete(capsys, monkeypatch, line) == found


def test_a_bare_command_completes_the_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, in the order of the help."""
    assert complete(capsys, monkeypatch, "holdfast ") == [*VERBS, "mcp"]


def test_names_that_are_completed_are_those_that_there_are() -> None:
    """They are taken from the files' names, without reading the files."""
    assert rule_names() == {rule.code: rule.name for rule in all_rules()}
    assert set(class_names()) == {each.name for each in all_signatures()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str) -> None:
    """The line of the docs gives a script that names the command."""
    program = "from holdfast.cli.main import main; main()"
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={"_HOLDFAST_COMPLETE": f"{shell}_source", "PATH": "/usr/bin:/bin"},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "_HOLDFAST_COMPLETE" in told.stdout
