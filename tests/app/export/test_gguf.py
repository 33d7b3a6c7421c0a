"""`holdfast export --gguf`: everything that is missing is told at once, before anything heavy; what is made is proved."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.export.process import FailedStage, StageProcess, StageReport
from holdfast.app.export import gguf
from holdfast.cli.main import run_command
from holdfast.core.export import ExportTools
from tests.helpers.exported import exportable_models  # noqa: F401 - the fixture `exportable`
from tests.helpers.gguf_tools import share_cache

pytestmark = pytest.mark.train
Ask = Callable[..., tuple[int, dict[str, Any]]]
NOTHING = ExportTools(
    runtime="", broken="", compiler=False, cmake=False, missing=("sentencepiece",), system=("debian",), free_bytes=1
)


@pytest.fixture(name="ask")
def asking(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, exportable: Path, monkeypatch: pytest.MonkeyPatch
) -> Ask:
    """Type a command that answers in JSON; return its exit code and its answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def typed(model: str, *words: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        given = [str(exportable / model), "--out", "out", *words, "--offline", "--format", "json"]
        code = run_command(["export", *given])
        return code, json.loads(capsys.readouterr().out)

    return typed


def test_all_that_is_missing_is_told_at_once(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With commands to copy; nothing of the system is installed, and nothing is loaded. What the extra brings is not told apart from it."""
    monkeypatch.setattr(gguf, "look_at_tools", lambda _: NOTHING)
    monkeypatch.setattr(StageProcess, "run", None)
    code, answer = ask("lora", "--gguf", "q8_0")
    told = [(error["what"], error["fix"]) for error in answer["errors"]]

    assert code == 2
    assert [
        any(words in what for what, _ in told)
        for words in ("llama-cpp-python", "C++ compiler", "CMake", "of disk", "sentencepiece")
    ] == [True, True, True, True, False]
    assert "sudo apt-get install --yes build-essential cmake" in [fix for _, fix in told]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "fix"), [(("--gguf", "q8_o"), "there is q8_0"), (("--gguf", "q8_0", "--sample", "none.txt"), "text file")]
)
def test_options_that_name_nothing(ask: Ask, words: tuple[str, ...], fix: str) -> None:
    code, answer = ask("lora", *words)

    assert code == 2
    assert fix in answer["errors"][0]["fix"]


def test_a_package_that_the_converter_lacks_is_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = replace(NOTHING, runtime="0.3.36", free_bytes=10**15)
    monkeypatch.setattr(gguf, "look_at_tools", lambda _: tools)
    code, answer = ask("lora", "--gguf", "q8_0")

    assert code == 2
    assert ("the converter needs sentencepiece", "pip install sentencepiece") in [
        (error["what"], error["fix"]) for error in answer["errors"]
    ]


def test_the_converter_is_not_fetched_offline(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = ExportTools(
        runtime="0.3.36", broken="", compiler=False, cmake=False, missing=(), system=(), free_bytes=10**15
    )
    monkeypatch.setattr(gguf, "look_at_tools", lambda _: ready)
    code, answer = ask("lora", "--gguf", "q8_0")

    assert code == 2
    assert "may not be fetched" in answer["errors"][0]["what"]


def test_files_are_made_and_proved(ask: Ask, tmp_path: Path) -> None:
    """SFT + LoRA to f16 and q8_0 and q4_k_m: the same tokens, close logits, and an answer. A disk that fills up keeps the rest."""
    share_cache(tmp_path / "cache")
    full = FailedStage("disk", "OSError: [Errno 28] No space left on device")

    run = StageProcess.run

    def fill(process: StageProcess, stage: str, asked: dict[str, Any], *rest: Any, **named: Any) -> Any:
        if stage == "quantize" and asked["out"].endswith("q2_k.gguf"):
            Path(asked["out"]).write_bytes(b"half")
            return StageReport(full, 0.1)
        return run(process, stage, asked, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StageProcess, "run", fill)
        code, answer = ask("lora", "--gguf", "q8_0,q4_k_m,q2_k")
    files = {file["quantization"]: file for file in answer["files"]}

    assert (code, answer["verdict"]) == (1, "fail")
    assert {path.name for path in (tmp_path / "out").glob("*.gguf")} == {"lora-q8_0.gguf", "lora-q4_k_m.gguf"}
    for name in ("q8_0", "q4_k_m"):
        assert {check["name"]: check["verdict"] for check in files[name]["checks"]} == {
            "token-ids": "pass", "logits": "pass", "perplexity": "pass", "generation": "pass",
        }  # fmt: skip
        assert Path(files[name]["path"]).stat().st_size == files[name]["bytes"]
    assert files["q2_k"]["path"] == ""
    assert "No space left on device" in files["q2_k"]["checks"][0]["because"]
    assert files["q4_k_m"]["types"] == {"Q5_0": 12, "F32": 11, "Q8_0": 3}
    assert any("q4_k_m: rows of 64 numbers" in note for note in answer["notes"])
    assert answer["pre_tokenizer"].startswith("qwen2, since with it")
    assert "sha256" in answer["converter"]


def test_an_architecture_that_the_converter_lacks(ask: Ask, tmp_path: Path, exportable: Path) -> None:
    share_cache(tmp_path / "cache")
    config = exportable / "untied" / "config.json"
    before = config.read_text()
    config.write_text(json.dumps({**json.loads(before), "architectures": ["NoSuchForCausalLM"]}))
    try:
        code, answer = ask("untied", "--gguf", "f16")
    finally:
        config.write_text(before)

    assert code == 2
    assert "does not know the architecture NoSuchForCausalLM" in answer["errors"][0]["what"]
