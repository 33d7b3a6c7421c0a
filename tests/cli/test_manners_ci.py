"""What stands in other people's repositories works there: the pre-commit hook and the GitHub Action."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from holdfast.cli.main import cli, run_command

ROOT = Path(__file__).parents[2]
GIT = shutil.which("git") or "git"
BAD = "from trl import SFTConfig\n\nargs = SFTConfig(output_dir='out', max_seq_length=512)\n"
HEADER = "# /// script\n# dependencies = ['trl==1.16.0', 'transformers==5.23.0']\n# ///\n"


def load(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text())


def git(folder: Path, *words: str) -> str:
    told = subprocess.run([GIT, *words], cwd=folder, check=True, capture_output=True, text=True)
    return told.stdout


def commit(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "--force", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")


def options_of_check() -> set[str]:
    command = cli.get_command(None, "check")  # type: ignore[arg-type]  # no context is needed
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts}


def test_the_hook_takes_the_files_that_check_reads() -> None:
    """Scripts, notebooks and YAML, judged as a folder's files are; the options it names exist."""
    (hook,) = load(".pre-commit-hooks.yaml")
    command, verb, *options = hook["entry"].split()

    assert (command, verb, hook["language"]) == ("holdfast", "check", "python")
    assert set(hook["types_or"]) == {"python", "jupyter", "yaml"}
    assert set(options) <= options_of_check()


def test_the_action_is_a_composite_one_that_trusts_no_input() -> None:
    """Inputs reach its programs as variables alone, never as text of a program; each input has an effect."""
    action = load("action.yml")
    steps = action["runs"]["steps"]
    programs = [step["run"] for step in steps if "run" in step]
    told = json.dumps(steps)

    assert action["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    assert not [program for program in programs if "${{" in program]
    assert [name for name in action["inputs"] if f"inputs.{name}" not in told] == []
    assert all("description" in each and "default" in each for each in action["inputs"].values())


def run_step(name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one step of the Action as GitHub would, with a `holdfast` that lies where the first step puts it."""
    (step,) = (step for step in load("action.yml")["runs"]["steps"] if step["name"] == name)
    program = folder / "holdfast" / "bin" / "holdfast"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m holdfast "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "RUNNER_TEMP": str(folder), **variables}
    words = [shutil.which("bash") or "bash", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(words, check=False, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_actions_steps_check_and_write_sarif(tmp_path: Path) -> None:
    """Annotations and the exit code from one, a log from the other; hostile names are names and nothing else."""
    hostile = "a b;touch owned$(touch owned).py"
    (tmp_path / hostile).write_text(HEADER + BAD)
    (tmp_path / "holdfast.toml").write_text("")
    asked = {"TARGETS": f"{hostile}\n\n", "OPTIONS": "--select=ARG\n"}
    checked = run_step("Check", tmp_path, **asked)
    written = run_step("Write SARIF", tmp_path, **asked)
    log = json.loads((tmp_path / "holdfast.sarif").read_text())

    assert checked.returncode == 1, checked.stderr
    assert checked.stdout.startswith("::error file=a b;touch owned$(touch owned).py,line=6,")
    assert written.returncode == 0, written.stderr
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["ARG101"]
    assert not (tmp_path / "owned").exists()


def test_a_wrong_question_fails_the_actions_step(tmp_path: Path) -> None:
    """It is no finding: nothing would be uploaded, and nobody would know."""
    assert run_step("Write SARIF", tmp_path, TARGETS="none.py", OPTIONS="").returncode != 0


@pytest.mark.long
def test_the_hook_runs_in_a_users_repository(tmp_path: Path) -> None:
    """From a clone, installed by pre-commit itself: it stops a stale script, and lets a good one and foreign YAML pass."""
    ours, users = tmp_path / "holdfast", tmp_path / "users"
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")[:-1]:
        if (ROOT / name).is_file():
            (ours / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, ours / name)
    commit(ours)
    users.mkdir()
    (users / "train.py").write_text(HEADER + BAD)
    (users / "workflow.yml").write_text("on: push\n")
    (users / "setup.py").write_text("import setuptools\n")
    commit(users)
    uv = Path(sys.executable).with_name("uv")
    words = [str(uv), "tool", "run", "--python", sys.executable, "pre-commit", "try-repo", str(ours), "--all-files"]
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home")}

    def hook() -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, check=False, cwd=users, env=environment, capture_output=True, text=True)

    stale = hook()
    (users / "train.py").write_text(HEADER + BAD.replace("max_seq_length", "max_length"))
    good = hook()

    assert (stale.returncode, good.returncode) == (1, 0), stale.stdout + stale.stderr + good.stdout
    assert "train.py:6:36: ARG101" in stale.stdout
    assert "SYN001" not in stale.stdout


@pytest.mark.parametrize("format_", ["github", "sarif"])
def test_a_job_file_that_breaks_its_schema_is_annotated(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named alone it is a wrong question, with exit code 2; each of its mistakes stands in the annotations too."""
    job = tmp_path / "job.yaml"
    job.write_text("method: sfft\nmodel: gpt2\ndataset: rows.jsonl\nseed: x\n")

    code = run_command(["check", str(job), "--format", format_])
    told = capsys.readouterr()

    assert code == 2
    assert told.out.count("SYN001") >= 2
    assert "did you mean `sft`?" in told.out
    assert "`seed` is the text 'x'" in told.out
    assert "did you mean `sft`?" in told.err


def test_what_is_no_mistake_in_a_file_is_not_annotated(capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there has no line to annotate."""
    assert run_command(["check", "nowhere.yaml", "--format", "sarif"]) == 2
    assert capsys.readouterr().out == ""
