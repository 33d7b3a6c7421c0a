"""Secrets that a user gives reach the training process as its environment, and nothing else."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.adapters.secrets import MASKED
from holdfast.app.resume.verb import resume
from holdfast.app.run.verb import run
from holdfast.cli.main import run_command
from holdfast.core.errors import UsageError
from tests.helpers.tiny import quiet_environment

TOKEN = "hf_" + "Ab1cD2eF3" * 4
PASSWORD = "correct-horse-battery-9"  # noqa: S105 - no real one
SCRIPT = f"""
import os, sys
login = lambda token: print("logged in", token == "hf_" + "Ab1cD2eF3" * 4)
login("{TOKEN}")
print("argument", sys.argv[1] == "--token={TOKEN}")
if os.path.exists("fail"):
    raise SystemExit(f"refused {TOKEN}")
"""
DESPITE = ["HUB103"]


@pytest.fixture(name="place")
def folder_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which runs ask nobody; what other tests have masked is not known here."""
    monkeypatch.chdir(tmp_path)
    for name, value in quiet_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    MASKED.clear()
    (tmp_path / "train.py").write_text(SCRIPT)
    yield tmp_path
    MASKED.clear()


def files_with(folder: Path, secret: str) -> list[str]:
    """The files below a folder that hold a text, but for those that the user wrote."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent != folder]
    return [str(path.relative_to(folder)) for path in files if secret.encode() in path.read_bytes()]


def test_a_token_of_a_script_and_of_its_command_line_reach_the_process_alone(place: Path) -> None:
    """The process gets both; the run's folder holds neither, and `ps` shows none."""
    answer = run("train.py", arguments=[f"--token={TOKEN}"], despite=DESPITE, offline=True, rehearse=False)
    attempt = Path(answer.folder, "attempts", "1")

    assert (attempt / "stdout.log").read_text().split("\n")[:2] == ["logged in True", "argument True"]
    assert not files_with(place, TOKEN)
    assert TOKEN not in json.dumps(json.loads((attempt / "guard.json").read_text()))


@pytest.mark.parametrize("words", [[f"--password={PASSWORD}"], ["--api-key", PASSWORD]])
def test_an_argument_is_secret_by_the_name_of_its_option(place: Path, words: list[str]) -> None:
    """Whatever its value looks like."""
    Path("own.py").write_text("import sys\nprint(sys.argv[1:])\n")

    answer = run("own.py", arguments=words, offline=True, rehearse=False)

    assert answer.stage == "succeeded"
    assert PASSWORD in Path(answer.folder, "attempts", "1", "stdout.log").read_text()
    assert files_with(place, PASSWORD) == [f"runs/{answer.run}/attempts/1/stdout.log"]


def test_an_exception_that_quotes_a_secret_variable(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the script itself prints is its own; what is kept of its end holds none."""
    monkeypatch.setenv("MY_PASSWORD", PASSWORD)
    Path("own.py").write_text("import os, sys\nsys.exit('refused ' + os.environ['MY_PASSWORD'])\n")

    answer = run("own.py", offline=True, rehearse=False)

    assert "refused [redacted]" in answer.because
    assert [each for each in files_with(place, PASSWORD) if not each.endswith(("stdout.log", "stderr.log"))] == []


def test_a_resumed_run_reads_the_token_of_a_script_again(place: Path) -> None:
    """From the script itself; an argument that nothing holds has to be exported, and the error says how."""
    (place / "fail").touch()
    answer = run("train.py", arguments=[f"--token={TOKEN}"], despite=DESPITE, offline=True, rehearse=False)
    (place / "fail").unlink()
    assert answer.stage == "failed"

    again = resume(answer.run)

    stdout = Path(answer.folder, "attempts", "2", "stdout.log").read_text()
    assert (again.stage, stdout.split("\n")[:2]) == ("succeeded", ["logged in True", "argument True"])


def test_a_token_that_is_nowhere_any_more_is_asked_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name under which the run knows it; exported, the run goes on."""
    (place / "train.py").write_text(
        "import os, sys\nprint(len(sys.argv[1]))\nraise SystemExit(os.path.exists('fail'))\n"
    )
    (place / "fail").touch()
    answer = run("train.py", arguments=[f"--token={TOKEN}"], offline=True, rehearse=False)
    (place / "fail").unlink()

    with pytest.raises(UsageError) as refused:
        resume(answer.run)
    assert refused.value.what == "secrets are not set: HOLDFAST_SECRET_1"
    assert refused.value.fix.startswith("export HOLDFAST_SECRET_1=…")

    monkeypatch.setenv("HOLDFAST_SECRET_1", TOKEN)
    assert resume(answer.run).stage == "succeeded"
    assert Path(answer.folder, "attempts", "2", "stdout.log").read_text() == f"{len(f'--token={TOKEN}')}\n"


JOB = f"""
method: sft
model: builtin:tiny-chat
dataset: rows.jsonl
environment:
  variables: {{WANDB_API_KEY: {PASSWORD}, MODE: fast_mode_1, DATABASE: "postgres://me:s3cr3t-w0rd@db/x"}}
train: {{hub_token: {TOKEN}, max_steps: 1}}
"""


@pytest.fixture(name="job")
def job_with_secrets(place: Path) -> Path:
    (place / "rows.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "a"}]}) + "\n")
    (place / "job.yaml").write_text(JOB)
    return place


def test_a_refused_job_leaves_no_secret(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the terminal, in the copies of the job, in the ledger, in the report; it still says where the token stands."""
    for words in (["check", "job.yaml", "--offline"], ["run", "job.yaml", "--offline"], ["runs"], ["show", "job"]):
        for format_ in ([], ["--format", "json"]):
            run_command([*words, *format_])
            shown = "".join(capsys.readouterr())
            assert not [secret for secret in (TOKEN, PASSWORD, "s3cr3t-w0rd") if secret in shown], words
            if words[0] == "check":
                assert "HUB103" in shown
    for secret in (TOKEN, PASSWORD, "s3cr3t-w0rd"):
        assert not files_with(job, secret)
    copied, *_ = job.glob("runs/*/job.resolved.yaml")
    assert "fast_mode_1" in copied.read_text()
    assert "WANDB_API_KEY" in copied.read_text()


def test_check_caches_and_formats_hold_no_secret(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finding quotes its line, a diff too."""
    (place / "pyproject.toml").touch()
    text = f'from trl import SFTConfig\nSFTConfig(max_seq_length=512, hub_token="{TOKEN}", bf16=True)\n'
    (place / "train.py").write_text(text)
    for options in (
        [],
        ["--format", "json"],
        ["--format", "sarif"],
        ["--format", "github"],
        ["--diff", "--unsafe-fixes"],
    ):
        for target in ("train.py", "."):
            run_command(["check", target, "--offline", *options])
            shown = "".join(capsys.readouterr())
            assert TOKEN not in shown, options
            assert "HUB103" in shown or "--diff" in options
    assert not files_with(place, TOKEN)
    run_command(["check", "train.py", "--offline", "--fix"])
    assert TOKEN in (place / "train.py").read_text()  # which is the user's own


def test_render_refuses_to_print_a_secret_and_names_those_of_the_environment(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A token in `train` would stand in the script; variables are read from the environment."""
    assert run_command(["render", "job.yaml"]) == 2
    shown = capsys.readouterr()
    assert "environment.secrets" in shown.err
    assert TOKEN not in shown.out + shown.err

    (job / "job.yaml").write_text(JOB.replace(f"hub_token: {TOKEN}, ", ""))
    assert run_command(["render", "job.yaml"]) == 0
    script = capsys.readouterr().out
    assert PASSWORD not in script
    assert "'WANDB_API_KEY'" in script or '"WANDB_API_KEY"' in script
    assert "fast_mode_1" in script


def test_logs_and_diagnoses_show_no_secret(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the training process itself prints."""
    (place / "train.py").write_text(f"print('using hf_' + '{TOKEN[3:]}')\nraise ValueError('hf_' + '{TOKEN[3:]}')\n")
    answer = run("train.py", offline=True, rehearse=False)
    for words in (["logs", answer.run], ["show", answer.run], ["diagnose", answer.run], ["watch", answer.run]):
        for format_ in ([], ["--format", "json"]):
            run_command([*words, *format_])
            assert TOKEN not in "".join(capsys.readouterr()), words
    assert TOKEN not in Path(answer.folder, "report.html").read_text()
    assert "ValueError: hf_[redacted]" in Path(answer.folder, "report.html").read_text()


def test_a_fault_of_holdfast_itself_shows_no_secret() -> None:
    """Its traceback goes through the same door as all else."""
    program = (
        "import sys, holdfast.cli.main as main\n"
        "def fail(words): raise RuntimeError(words)\n"
        "main.run_command = fail\n"
        "main.main(sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, TOKEN, "\x1b]52;c;cm0=\x07"], capture_output=True, text=True, check=False
    )
    assert "RuntimeError: ['hf_[redacted]'" in done.stderr
    assert TOKEN not in done.stderr


def test_files_of_a_run_are_their_owner_s_alone(place: Path) -> None:
    """Even if the umask lets everybody read, and the folder is opened later."""
    before = os.umask(0)
    try:
        answer = run("train.py", arguments=["--token=x"], despite=DESPITE, offline=True, rehearse=False, detach=False)
        run_command(["check", ".", "--offline"])
    finally:
        os.umask(before)
    ours = [path for path in Path(answer.folder).rglob("*") if path.is_file()]
    ours += [*place.glob("runs/ledger.sqlite*"), *place.glob(".holdfast_cache/*")]
    assert len(ours) > 8
    assert [path.name for path in ours if path.stat().st_mode & 0o077] == []
