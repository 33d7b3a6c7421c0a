"""`output.gguf`: what it needs is looked at before training; what fails after it loses no model, and `resume` makes the export again."""

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import save_plan
from holdfast.adapters.targets import read_target
from holdfast.app.export import gguf
from holdfast.app.run import exporting
from holdfast.app.run.after_training import after_training
from holdfast.app.run.exporting import export_final
from holdfast.app.show.verb import show
from holdfast.cli.main import run_command
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.run.event import Closed, ModelExported, RunStage
from holdfast.core.run.plan import Plan
from holdfast.results import to_json
from holdfast.results.export import ExportCheck, ExportedFile, ExportResult
from tests.app.export.test_gguf import NOTHING
from tests.app.run.test_evaluating import NAME, silence, trained_run  # noqa: F401 - the fixture `run`

JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\noutput: {gguf: [q8_0, q4_k_m]}\n"
ROW = {"messages": [{"role": role, "content": "one"} for role in ("user", "assistant")]}


@pytest.fixture(name="job")
def job_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job that makes GGUF files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(8 * (json.dumps(ROW) + "\n"))
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path / "job.yaml"


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run_command([*words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_what_an_export_lacks_is_reported_before_training(
    job: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it at once, and no run is created."""
    monkeypatch.setattr(gguf, "look_at_tools", lambda _: NOTHING)
    code, answer = typed(capsys, "run", "job.yaml", "--offline")
    found = " ".join(error["what"] for error in answer["errors"])

    assert code == 2
    for missing in ("llama-cpp-python", "C++ compiler", "CMake", "of disk"):
        assert missing in found
    assert not (job.parent / "runs").exists()


@pytest.mark.parametrize("named", ["--runs", "HOLDFAST_RUNS"])
def test_the_disk_of_the_runs_folder_is_looked_at(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    """Of the one that the run will use, and not of the job's `output.folder`."""
    folders = list[str]()

    def look(_base: str, _quantizations: object, out: str, **_: object) -> list[str]:
        folders.append(out)
        raise UsageError("the disk is full", where=out, fix="free some of it")

    monkeypatch.setattr(exporting, "look_at_export", look)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    if named == "HOLDFAST_RUNS":
        monkeypatch.setenv(named, "big-disk")
    code, _ = typed(capsys, "run", "job.yaml", "--offline", *(("--runs", "big-disk") if named == "--runs" else ()))

    assert code == 2
    assert folders == [str(job.parent / "big-disk")]


def test_a_classifier_gets_no_gguf_file(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward model has its head only after training."""
    monkeypatch.setattr(gguf, "look_at_tools", lambda _: NOTHING)

    with pytest.raises(ExceptionGroup) as refused:
        exporting.look_at_export("builtin:tiny-chat", ["q8_0"], str(job.parent), classifies=True, offline=True)

    assert any("has a head that classifies" in str(each) for each in refused.value.exceptions)


def test_quantizations_that_do_not_exist_are_errors_of_the_job(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job.write_text(JOB.replace("q4_k_m", "q4_k_l"))
    code, answer = typed(capsys, "check", "job.yaml", "--offline")

    assert code == 2
    assert "output.gguf.1" in json.dumps(answer)


def made(folder: Path, *checks: ExportCheck) -> Callable[..., Any]:
    """Return an export that delivers a q8_0 file, and a q4_k_m file with these checks."""

    def file(quantization: str, path: str, found: list[ExportCheck]) -> ExportedFile:
        return ExportedFile(
            path=path, format="gguf", quantization=quantization, bytes=1, memory_bytes=1, types={}, checks=found
        )

    def run_export(*_: Any) -> Any:
        failed = any(each.verdict == "fail" for each in checks)
        files = [file("q8_0", "m-q8_0.gguf", []), file("q4_k_m", "" if failed else "m-q4_k_m.gguf", list(checks))]
        return ExportResult(
            verb="export",
            verdict="fail" if failed else "pass",
            model="m",
            base=None,
            adapters=(),
            output=str(folder / "export"),
            files=files,
            dtype="float32",
            precision="copied",
            tied=False,
            added_tokens=0,
            converter="",
            pre_tokenizer="",
            modelfile="",
            card="",
            notes=[],
            steps=[],
            versions={},
            pushed=None,
        )

    return run_export


def planned(*quantizations: str, export_on: str = "") -> Plan:
    """Return the plan of a run that makes these files."""
    return Plan(name="sums", script="", script_name="sums.py", cwd="/", gguf=quantizations, export_on=export_on)


def close(run: Path, exported: ModelExported) -> None:
    Ledger(run.parent).append(NAME, [exported, Closed(at_s=exported.at_s, stage=RunStage.SUCCEEDED)])


def test_a_file_that_fails_keeps_the_others_and_the_model(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run has succeeded; its exit code is 1, and the next command makes the export again."""
    (run / "model").mkdir()
    bad = ExportCheck(name="perplexity", verdict="fail", value=0.2, because="+20 %")
    monkeypatch.setattr(exporting, "_export", made(run, bad))
    close(run, export_final(run, planned("q8_0", "q4_k_m"), silence, lambda _: None))
    shown = show(NAME, runs=run.parent)

    assert (shown.stage, shown.exit_code, shown.export and shown.export.files) == ("succeeded", 1, ("m-q8_0.gguf",))
    assert shown.export
    assert shown.export.because == "q4_k_m: perplexity: +20 %"
    assert [each.label for each in shown.next] == ["export"]
    assert json.loads((run / "results" / "export.json").read_text())["verdict"] == "fail"
    assert "q4_k_m: perplexity: +20 %" in (run / "report.html").read_text()


@pytest.mark.parametrize(
    "error",
    [
        SourceError("convert failed: No space left on device", where="here", fix="free some disk space"),
        UsageError("the architecture is unknown", where="config.json", fix="export without GGUF files"),
    ],
)
def test_an_export_that_cannot_be_made_says_why(
    run: Path, error: SourceError | UsageError, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(exporting, "_export", fail)
    exported = export_final(run, planned("q8_0"), silence, lambda _: None)

    assert (exported.verdict, exported.because) == ("fail", f"{error.what}; {error.fix}")


def test_a_result_that_cannot_be_written_is_an_export_that_failed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run gets its verdict all the same."""
    monkeypatch.setattr(exporting, "_export", made(run))
    shutil.rmtree(run / "results", ignore_errors=True)
    (run / "results").write_text("no folder")
    exported = export_final(run, planned("q8_0"), silence, lambda _: None)

    assert exported.verdict == "fail"
    assert exported.because.startswith("export.json cannot be written")


def test_a_model_that_is_not_here_is_no_export(run: Path) -> None:
    exported = export_final(run, planned("q8_0"), silence, lambda _: None)

    assert exported.verdict == "fail"
    assert exported.because.startswith("the final model is not on this machine")


def test_resume_makes_only_the_export_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An export that passed is not made again."""
    close(run, ModelExported(at_s=9.0, verdict="pass", folder=str(run / "export"), files=("m.gguf",)))
    code, answer = typed(capsys, "resume", NAME, "--runs", str(run.parent))

    assert code == 2
    assert "has succeeded" in answer["errors"][0]["what"]
    assert to_json(show(NAME, runs=run.parent))["export"]["files"] == ["m.gguf"]


def test_another_machine_makes_the_export(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run has succeeded without it, and says where it is made; `resume` makes it there, of a copy of the run's folder."""
    (run / "model").mkdir()
    save_plan(run, planned("q8_0", export_on="CPU-Box"))
    monkeypatch.setattr("socket.gethostname", lambda: "gpu-node.example.org")
    close(run, export_final(run, planned("q8_0", export_on="CPU-Box"), silence, lambda _: None))
    shown = show(NAME, runs=run.parent)
    assert (shown.stage, shown.exit_code) == ("succeeded", 0)
    assert [each.command.split()[:2] for each in shown.next] == [["holdfast", "resume"]]
    assert "this is not CPU-Box; `holdfast resume" in (run / "report.html").read_text()

    there = tmp_path / "there" / NAME
    shutil.copytree(run, there)
    monkeypatch.setattr("socket.gethostname", lambda: "cpu-box.example.org")
    monkeypatch.setattr(exporting, "_export", made(there))
    code, answer = typed(capsys, "resume", str(there))
    assert "errors" not in answer, answer

    assert (code, answer["export"]["verdict"], answer["export"]["folder"]) == (0, "pass", str(there / "export"))
    assert show(NAME, runs=there.parent).export != shown.export


@pytest.mark.parametrize(("host", "here"), [("no-such-box", False), (socket.gethostname(), True)])
def test_the_tools_are_looked_at_on_the_machine_that_exports(job: Path, host: str, here: bool) -> None:
    """The machine that trains needs none of them, unless it is the one."""
    after = after_training(read_target(str(job), (f"output.export_on={host}",), ()))

    assert bool(after.quantizations) is here


@pytest.mark.parametrize("name", ["", "-box", "a b", "$HOST"])
@pytest.mark.usefixtures("job")
def test_a_name_that_no_host_has_is_an_error_of_the_job(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, answer = typed(capsys, "check", "job.yaml", "--offline", "--set", f"output.export_on='{name}'")

    assert code == 2
    assert "output.export_on" in json.dumps(answer)


def test_an_export_gets_a_folder_of_its_own(run: Path) -> None:
    """What stands in the folder of an earlier export is kept."""
    shutil.rmtree(run / "export", ignore_errors=True)
    assert exporting._free_folder(run) == run / "export"
    (run / "export").mkdir()
    assert exporting._free_folder(run) == run / "export-2"
