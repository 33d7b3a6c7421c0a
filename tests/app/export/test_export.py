"""`holdfast export`, as typed: the folder that appears whole, exit codes, and what it says of whatever is wrong."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.export.process import FailedStage, StageProcess, StageReport
from holdfast.adapters.storage.ledger import Ledger
from holdfast.cli.main import run_command
from holdfast.core.run.event import RunRequested
from holdfast.core.run.requested_job import RequestedJob
from tests.helpers.exported import exportable_models  # noqa: F401 - the fixture `exportable`
from tests.helpers.forked_children import fork_exports  # noqa: F401 - the fixture `forked_exports`
from tests.helpers.hub import loopback_hub
from tests.helpers.tiny import quiet_environment

ROOT = Path(__file__).parents[3]
PUSH = """\
import os, sys
import huggingface_hub
from holdfast.cli.main import main

if os.environ["LOST"] == "1":  # as a proxy does that answers for the Hub
    upload = huggingface_hub.HfApi.upload_folder
    huggingface_hub.HfApi.upload_folder = lambda self, **named: upload(self, **named, ignore_patterns=["*.safetensors"])
main(sys.argv[1:])
"""
pytestmark = pytest.mark.usefixtures("forked_exports")
Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(name="ask")
def asking(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, exportable: Path, monkeypatch: pytest.MonkeyPatch
) -> Ask:
    """Type a command that answers in JSON, in a folder beside the models; return its exit code and its answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    for each in exportable.iterdir():
        (tmp_path / each.name).symlink_to(each)

    def typed(*words: str | Path) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run_command(["export", *map(str, words), "--offline", "--format", "json"])
        return code, json.loads(capsys.readouterr().out)

    return typed


@pytest.mark.train
def test_a_run_is_exported_into_its_folder(ask: Ask, tmp_path: Path) -> None:
    """Its adapter is merged into the base that it names; a second export does not overwrite the first."""
    name = "sums-20261127-090000-x7"
    folder = tmp_path / "runs" / name
    shutil.copytree(tmp_path / "lora", folder / "model")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "a"}\n')
    (folder / "job.resolved.yaml").write_text(f"method: sft\nmodel: base/model\ndataset: {rows}\n")
    about = RequestedJob(job="sums", method="sft", model="base/model", dataset="train.jsonl")
    Ledger(tmp_path / "runs").append(name, [RunRequested(at_s=1.0, folder=str(folder), about=about)])

    code, answer = ask("sums")

    assert (code, answer["verdict"], answer["output"]) == (0, "pass", str(folder / "export"))
    assert (folder / "export" / "model.safetensors").is_file()
    (file,) = answer["files"]
    assert [(check["name"], check["verdict"]) for check in file["checks"]] == [("weights", "pass"), ("logits", "pass")]
    assert file["bytes"] == (folder / "export" / "model.safetensors").stat().st_size
    assert [each["name"] for each in answer["steps"]] == ["merge"]

    code, answer = ask("sums")

    assert code == 2
    assert "is not empty" in answer["errors"][0]["what"]


@pytest.mark.train
@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (["absent"], "no model on this machine is called absent", ""),
        (["on-quantized"], "stored quantized (bitsandbytes): merging into rounded weights", "--base"),
        (["quantized"], "stored quantized (bitsandbytes)", "that it was quantized from"),
        (["stacked"], "is an adapter itself", "holdfast export"),
        (["lora", "--adapter", "tiny"], "tiny is not an adapter", ""),
        (["lora", "--adapter", "on-half"], "the adapter on-half was trained on", "of the same base"),
        (["tiny", "--base", "half"], "the model is not an adapter", "leave it out"),
        (["lora", "--base", "nothing"], "no model on this machine is called nothing", ""),
        (["lora", "--out", "tiny"], "the folder tiny is not empty", "--out"),
        (["lora", "--out", "note.txt/x"], "the folder for the export cannot be made", "--out"),
        (["model.gguf"], "is a GGUF file", "that it was converted from"),
        (["without"], "has no tokenizer", "save_pretrained"),
        (["baseless"], "does not name its base", "base_model_name_or_path"),
        (["prompt"], "has no weights to merge", "served beside its base"),
    ],
)
def test_what_cannot_be_exported(ask: Ask, tmp_path: Path, words: list[str], what: str, fix: str) -> None:
    """It is said what is wrong and what to do, and nothing is left behind."""
    (tmp_path / "note.txt").write_text("")
    shutil.copytree(tmp_path / "tiny", tmp_path / "without", ignore=shutil.ignore_patterns("tokenizer*"))
    shutil.copytree(tmp_path / "lora", tmp_path / "baseless")
    config = tmp_path / "baseless" / "adapter_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "base_model_name_or_path": None}))
    before = {path.name for path in tmp_path.iterdir()}

    code, answer = ask(*words)

    (error,) = answer["errors"]
    assert code == 2
    assert what in error["what"]
    assert fix in error["fix"]
    assert {path.name for path in tmp_path.iterdir()} - before <= {"export"}
    assert not [path for path in tmp_path.glob("export/*") if path.name != words[0]]
    assert not (tmp_path / "export" / words[0]).exists()


@pytest.mark.train
@pytest.mark.parametrize(
    ("failed", "what", "fix"),
    [
        (
            FailedStage("disk", "OSError: [Errno 28] No space left on device"),
            "No space left on device",
            "free some disk space",
        ),
        (FailedStage("killed", "the process was killed"), "was killed", "more memory"),
        (FailedStage("died", "the process ended with exit code -11"), "exit code -11", "holdfast doctor"),
    ],
)
def test_a_step_that_fails_leaves_nothing_behind(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: FailedStage, what: str, fix: str
) -> None:
    """A full disk, too little memory, a crash: files that are half written have no name that a user would take for whole."""

    def half(_: StageProcess, __: str, asked: dict[str, Any], *___: object, **____: object) -> StageReport[Any]:
        Path(asked["out"]).mkdir()
        Path(asked["out"], "model.safetensors").write_bytes(b"half")
        return StageReport(failed, 0.1)

    monkeypatch.setattr(StageProcess, "run", half)
    code, answer = ask("lora", "--out", "out")

    assert code == 1
    assert what in answer["errors"][0]["what"]
    assert fix in answer["errors"][0]["fix"]
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".export-*"))


@pytest.mark.train
def test_a_model_that_gives_no_numbers_is_not_delivered(ask: Ask, tmp_path: Path) -> None:
    """It is a finding, with exit code 1."""
    from safetensors.numpy import load_file, save_file

    shutil.copytree(tmp_path / "tiny", tmp_path / "broken")
    weights = load_file(tmp_path / "broken" / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"] * float("nan")
    save_file(weights, tmp_path / "broken" / "model.safetensors", metadata={"format": "pt"})

    code, answer = ask("broken", "--out", "out")

    assert (code, answer["verdict"], answer["output"], answer["files"][0]["path"]) == (1, "fail", "", "")
    assert "not numbers" in answer["files"][0]["checks"][0]["because"]
    assert not (tmp_path / "out").exists()


@pytest.mark.train
@pytest.mark.parametrize(
    ("lost", "code", "verdict"), [pytest.param(False, 0, "arrived", marks=pytest.mark.long), (True, 1, "missing")]
)
def test_a_push_is_verified(exportable: Path, tmp_path: Path, lost: bool, code: int, verdict: str) -> None:
    """As pushes of training are: what the Hub has is compared with what was made. The card replaces that of TRL."""
    with loopback_hub() as hub:
        environment = quiet_environment(**hub.variables, LOST=str(int(lost)), PYTHONPATH=str(ROOT))
        words = ["export", str(exportable / "lora"), "--out", "out", "--push", "me/sums", "--format", "json"]
        done = subprocess.run(
            [sys.executable, "-c", PUSH, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        answer = json.loads(done.stdout)

    assert done.returncode == code, done.stderr
    assert (answer["pushed"]["repository"], answer["pushed"]["verdict"]) == ("me/sums", verdict)
    assert answer["verdict"] == ("fail" if lost else "pass")
    assert "holdfast export" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.train
def test_a_push_that_cannot_be_is_refused_first(ask: Ask, tmp_path: Path) -> None:
    code, answer = ask("lora", "--out", "out", "--push", "me/sums")

    assert code == 2
    assert "--push needs the Hub" in answer["errors"][0]["what"]
    assert not (tmp_path / "out").exists()
