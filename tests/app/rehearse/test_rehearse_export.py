"""The stage `export` of a rehearsal makes the GGUF files that the job asks for from the twin."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.rehearse import exporting
from holdfast.app.rehearse.exporting import rehearse_export
from holdfast.app.rehearse.verb import rehearse
from holdfast.core.errors import HoldfastError, SourceError, UnexportableError
from holdfast.core.rehearse.rehearsal import Rehearsal, StageResult
from holdfast.results.export import ExportCheck, ExportedFile
from tests.helpers.gguf_tools import kept_converter

PASSED = Rehearsal(stages=(StageResult(name="save", status="pass"), StageResult(name="export", status="pass")))
JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\ntrain: {max_steps: 2}\noutput: {gguf: [q8_0]}\n"
ROW = {"messages": [{"role": role, "content": "one"} for role in ("user", "assistant")]}
Play = Callable[[Callable[..., Any]], Rehearsal]


@pytest.fixture(name="play")
def playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Rehearse an export that does what it is given."""
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported" / "config.json").write_text("{}")

    def play(export: Callable[..., Any]) -> Rehearsal:
        monkeypatch.setattr(exporting, "_export", export)
        return rehearse_export(PASSED, tmp_path, ["q8_0"], lambda _: None, offline=True)

    return play


def raising(error: HoldfastError) -> Callable[..., Any]:
    def export(*_: Any, **__: Any) -> None:
        raise error

    return export


def giving(**checks: str) -> Callable[..., Any]:
    """Return an export whose file has these verdicts."""
    found = [
        ExportCheck(name="token-ids" if name == "ids" else name, verdict=verdict, value=None, because=f"{name} is so")  # type: ignore[arg-type]
        for name, verdict in checks.items()
    ]
    file = ExportedFile(path="", format="gguf", quantization="q8_0", bytes=1, memory_bytes=1, types={}, checks=found)
    return lambda *_, **__: type("Given", (), {"files": [file]})()


def test_a_known_reason_fails_the_stage(play: Play) -> None:
    """With the fix of the export, at the job's key."""
    error = UnexportableError("no Foo", "gguf-arch-unsupported", where="config.json", fix="export without GGUF files")
    found = play(raising(error))
    (failure,) = found.failures

    assert not found.passed
    assert (failure.stage, failure.key, failure.cause.signature.name) == (
        "export",
        "output.gguf",
        "gguf-arch-unsupported",
    )
    assert failure.cause.fix == "export without GGUF files"
    assert found.stages[-1].status == "fail"


def test_unequal_tokens_fail_the_stage(play: Play) -> None:
    """The tokenizer of a twin is that of the model."""
    (failure,) = play(giving(ids="fail", perplexity="fail")).failures

    assert failure.cause.signature.name == "gguf-pretokenizer-unknown"


def test_numbers_of_a_twin_decide_nothing(play: Play) -> None:
    """Its weights are random; nor does a file that cannot be made of something so small."""
    found = play(giving(weights="fail"))

    assert found.passed
    assert found.warnings[0].message.startswith("the twin's q8_0 file could not be made")
    assert play(giving(logits="fail", perplexity="fail")).passed


def test_an_unknown_reason_is_not_rehearsed(play: Play) -> None:
    found = play(raising(SourceError("merge failed: killed", where="here", fix="use a larger machine")))

    assert found.passed
    assert [each.because for each in found.omitted] == ["merge failed: killed"]


@pytest.mark.train
@pytest.mark.long
def test_a_job_with_gguf_files_is_rehearsed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged, converted, quantized, and read alike."""
    kept_converter()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(8 * (json.dumps(ROW) + "\n"))
    (tmp_path / "job.yaml").write_text(JOB)
    said: list[str] = []
    answer = rehearse("job.yaml", here=True, on_progress=lambda message: said.append(str(message)))

    assert answer.verdict == "pass", answer.failures
    assert {each.name: each.status for each in answer.stages}["export"] == "pass"
    assert any("export: prove q8_0" in each for each in said)
    assert not [each for each in answer.not_rehearsed if each.what == "GGUF files"]
