"""A model is found by whatever name a user has for it, before it is loaded."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.models.finding import find_model
from holdfast.app.models.run_models import kept_checkpoints
from holdfast.core.errors import UsageError
from holdfast.core.run.event import Event, Liveness, Polled, Reported, RunRequested, Starting
from holdfast.core.run.requested_job import RequestedJob
from tests.helpers.gguf_files import gguf_bytes
from tests.helpers.gguf_files import text as gguf_text

NAME = "sums-20261127-090000-x7"


def make_model(folder: Path, **config: object) -> None:
    """Write the small files of a model; nothing reads its weights."""
    folder.mkdir(parents=True)
    given = {"architectures": ["Qwen2ForCausalLM"], **config}
    texts = {"config.json": json.dumps(given), "tokenizer.json": "{}", "chat_template.jinja": "{{ messages }}"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "pytorch_model.bin").write_bytes(b"weights")


@pytest.fixture(name="run")
def finished_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run with a final model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    folder = tmp_path / "runs" / NAME
    make_model(folder / "model")
    (folder / "job.resolved.yaml").write_text("method: sft\n")
    about = RequestedJob(job="sums", method="sft", model="base/model", dataset="train.jsonl")
    Ledger(tmp_path / "runs").append(NAME, [RunRequested(at_s=1.0, folder=str(folder), about=about)])
    return folder


@pytest.mark.parametrize("name", [NAME, "sums", f"runs/{NAME}", f"./runs/{NAME}/", f"runs/{NAME}/model"])
def test_a_run_is_its_final_model(run: Path, name: str) -> None:
    """By its name, the beginning of it, or its folder; its job tells what it was trained from, and on."""
    found = find_model(name, runs=None, offline=True)

    assert found.source.path == str(run / "model")
    assert (found.name, found.base, found.trained_on, found.is_final) == (NAME, "base/model", "train.jsonl", True)


def test_a_gguf_file_of_a_run_is_compared_with_the_model_of_its_job(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what the run was for; its chat template stands in the file."""
    monkeypatch.setattr("holdfast.app.extras.find_spec", lambda _: True)
    file = run / "export" / "sums-q8_0.gguf"
    file.parent.mkdir()
    file.write_bytes(
        gguf_bytes({"general.architecture": gguf_text("qwen2"), "tokenizer.chat_template": gguf_text("{{ messages }}")})
    )

    found = find_model(str(file), runs=None, offline=True)

    assert (found.source.path, found.source.is_gguf, found.template) == (str(file), True, "{{ messages }}")
    assert (found.base, found.trained_on, found.is_final) == ("base/model", "train.jsonl", False)


def test_a_run_without_a_final_model(run: Path) -> None:
    shutil.rmtree(run / "model")

    with pytest.raises(UsageError, match=f"the run {NAME} has no final model: it is queued"):
        find_model("sums", runs=None, offline=True)


@pytest.fixture(name="scripted")
def run_of_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of a script of the user's own, which saves a checkpoint and a model in `out`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    folder, out = tmp_path / "runs" / NAME, tmp_path / "out"
    said: list[dict[str, Any]] = [
        {"event": "model", "step": None, "path": str(tmp_path / "prepared")},
        {"event": "start", "step": 0, "base": "base/model"},
        {"event": "checkpoint", "step": 10, "path": str(out / "checkpoint-10")},
        {"event": "model", "step": 10, "path": str(out)},
        {"event": "end", "step": 10, "status": "finished"},
    ]
    make_model(out)
    make_model(out / "checkpoint-10")
    events: list[Event] = [
        RunRequested(at_s=1.0, folder=str(folder), about=RequestedJob(job="sums", target="train.py")),
        Starting(at_s=2.0, attempt=1, backend="local"),
        *(Reported(at_s=3.0, attempt=1, said=each) for each in said),
        Polled(at_s=4.0, attempt=1, answer=Liveness.ENDED, exit_code=0),
    ]
    folder.mkdir(parents=True)
    Ledger(tmp_path / "runs").append(NAME, events)
    return folder


@pytest.mark.parametrize("name", ["sums", f"runs/{NAME}"])
def test_a_run_of_a_script_is_the_model_that_it_saved_last(scripted: Path, name: str) -> None:
    """Whatever folder it saved it in; not what it saved before its training."""
    found = find_model(name, runs=None, offline=True)

    assert found.source.path == str(scripted.parents[1] / "out")
    assert (found.name, found.base, found.run, found.is_final) == (NAME, "base/model", scripted, True)
    assert kept_checkpoints(scripted) == [(10, scripted.parents[1] / "out" / "checkpoint-10")]


def test_a_saved_model_that_is_gone(scripted: Path) -> None:
    out = scripted.parents[1] / "out"
    out.rename(out.with_name("kept"))

    with pytest.raises(UsageError, match=f"no final model: it was saved in {out}, which is no longer there"):
        find_model("sums", runs=None, offline=True)


def test_a_script_that_saves_no_model(scripted: Path) -> None:
    """What it saved instead is named."""
    started = Reported(at_s=3.0, attempt=1, said={"event": "start", "step": 0})
    Ledger(scripted.parent).append(NAME, [started])

    with pytest.raises(UsageError, match="no final model: its script saved none after training") as caught:
        find_model("sums", runs=None, offline=True)
    assert str(scripted.parents[1] / "out" / "checkpoint-10") in caught.value.fix


def test_a_checkpoint_knows_its_run(run: Path) -> None:
    """Its card names the data and the base, though it is not what the run ended with."""
    checkpoint = run / "checkpoints" / "1" / "checkpoint-10"
    make_model(checkpoint)

    found = find_model(f"runs/{NAME}/checkpoints/1/checkpoint-10", runs=None, offline=True)

    assert (found.run, found.is_final) == (run, False)
    assert (found.source.path, found.base, found.trained_on) == (str(checkpoint), "base/model", "train.jsonl")


def test_a_folder_outside_runs_is_of_no_run(run: Path) -> None:
    shutil.copytree(run / "model", run.parent / "copied")

    found = find_model("runs/copied", runs=None, offline=True)

    assert (found.run, found.base, found.template) == (None, None, "{{ messages }}")


@pytest.mark.parametrize("name", ["sms", "sum-20261127-090000-x7"])
@pytest.mark.usefixtures("run")
def test_a_misspelt_run_has_a_nearest(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_model(name, runs=None, offline=True)

    assert caught.value.fix == f"there is the run {NAME}; `holdfast runs` lists all"


def test_other_weights_are_another_model(run: Path) -> None:
    """Outputs that were kept of the former ones are not taken for theirs."""
    before = find_model("sums", runs=None, offline=True).identity
    (run / "model" / "pytorch_model.bin").write_bytes(b"other weights")

    assert find_model("sums", runs=None, offline=True).identity != before


def test_an_adapter_reads_as_its_base_does(run: Path) -> None:
    """Its template, if it has none; its base beside it, if the name is that of a folder there."""
    adapter = run.parent / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": f"../{NAME}/model"}))
    (adapter / "adapter_model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")

    found = find_model(str(adapter), runs=None, offline=True)

    assert Path(found.source.path).resolve() == run / "model"
    assert (found.source.adapter, found.template) == (str(adapter), "{{ messages }}")
    assert found.base == found.source.path


def test_an_adapter_on_an_adapter_is_refused(run: Path) -> None:
    """Only the last one would be loaded, in silence."""
    for name, base in (("first", f"../{NAME}/model"), ("second", "../first")):
        (run.parent / name).mkdir()
        (run.parent / name / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
        (run.parent / name / "adapter_model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")

    with pytest.raises(UsageError, match="is an adapter itself"):
        find_model(str(run.parent / "second"), runs=None, offline=True)


def test_a_head_has_labels(tmp_path: Path) -> None:
    """By number, whatever their order in the file; a reward model has one."""
    named = {"10": "k", **{str(number): "abcdefghij"[number] for number in range(10)}}
    make_model(tmp_path / "many", architectures=["Qwen2ForSequenceClassification"], id2label=named)
    make_model(tmp_path / "two", architectures=["Qwen2ForSequenceClassification"])
    make_model(tmp_path / "one", architectures=["Qwen2ForSequenceClassification"], id2label={"0": "LABEL_0"})

    labels = [find_model(str(tmp_path / name), runs=None, offline=True).labels for name in ("many", "two", "one")]

    assert labels == [tuple("abcdefghijk"), ("LABEL_0", "LABEL_1"), ("LABEL_0",)]


@pytest.mark.parametrize(
    ("name", "removed", "what"),
    [
        ("tokenizer.json", "tokenizer.json", "has no tokenizer"),
        ("weights", "pytorch_model.bin", "holds no weights"),
        ("config.json", "config.json", "holds no model: it has no config.json"),
    ],
)
def test_a_model_that_lacks_a_file(tmp_path: Path, name: str, removed: str, what: str) -> None:
    make_model(tmp_path / name)
    (tmp_path / name / removed).unlink()

    with pytest.raises(UsageError, match=what):
        find_model(str(tmp_path / name), runs=None, offline=True)
