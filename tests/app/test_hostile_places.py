"""Files that are none, and names that no file can have, wherever a command reads one: an answer or an error of ours, at once."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest

import holdfast
from holdfast.core.errors import HoldfastError
from holdfast.engine.check.rule_runner import BROKEN
from tests.helpers.checkpoints import save_checkpoint
from tests.helpers.sampling import sampled

LONG: Final = "a" * 10_000
NAMES: Final[Mapping[str, str]] = {
    "the root": "/",
    "a name of 10,000 letters": LONG,
    "a folder of 300 letters": f"a/{'b' * 300}/c.jsonl",
    "a zero byte": "a\0b.jsonl",
    "half of a character": "a\ud83d.jsonl",
    "the home of nobody": "~nobody-at-all/x.jsonl",
    "a device": "/dev/zero",
    "an empty name": "",
    "a blank": " ",
    "a pattern": "[a-*/**/{x",
}
THINGS: Final[Mapping[str, Callable[[Path], object]]] = {
    "a FIFO": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a folder": Path.mkdir,
    "a file of 3 GB": lambda path: _sparse(path, 3 << 30),
    "an empty file": Path.touch,
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 20),
    "a number without bounds": lambda path: path.write_text('{"step": 1e999, "files": {"a": {"bytes": 1e999}}, "world_size": -1e999}\n'),
    "a number of 10,000 digits": lambda path: path.write_text(f'{{"step": {"9" * 10_000}}}\n'),
    "200,000 brackets": lambda path: path.write_text("[" * 200_000),
    "null": lambda path: path.write_text("null\n"),
    "a list": lambda path: path.write_text("[[1], null]\n"),
    "an absurd length": lambda path: path.write_bytes(b"\xff" * 7 + b"\x7f" + b"{}"),
}  # fmt: skip
SCRIPT: Final = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
rows = load_dataset("json", data_files={name}, split="train")
SFTTrainer({name}, SFTConfig(output_dir="o", deepspeed={name}, resume_from_checkpoint={name}), train_dataset=rows)
"""
JOB: Final = {"method": "sft", "model": "builtin:tiny-chat", "dataset": {"path": "d.jsonl"}}
FIELDS: Final[Mapping[str, Callable[[str], dict[str, object]]]] = {
    "its data": lambda name: {**JOB, "dataset": {"path": name}},
    "its model": lambda name: {**JOB, "model": name},
    "its mapping": lambda name: {**JOB, "dataset": {"path": "d.jsonl", "map": f"{name}:rewrite"}},
    "its reward": lambda name: {**JOB, "method": "grpo", "rewards": [f"{name}:reward"]},
}
EVERY: Final = 13
"""So many cases go by for one that `make check` runs; no divisor of the number of things."""
IN_A_RUN: Final = (
    "ledger.jsonl", "plan.json", "request.json", "check.json", "rehearsal.json", "job.yaml", "job.resolved.yaml", "report.html",
    "supervisor.lock", "results/samples.jsonl", "attempts/1/exit.json", "attempts/1/stdout.log", "attempts/1/stderr.log", "attempts/1/stacks.txt", "attempts/1/events.jsonl",
)  # fmt: skip
IN_A_MODEL: Final = (
    "config.json", "tokenizer_config.json", "adapter_config.json", "generation_config.json", "chat_template.jinja", "tokenizer.json",
    "model.safetensors", "model.safetensors.index.json", "added_tokens.json",
)  # fmt: skip
IN_A_CHECKPOINT: Final = (
    "holdfast-manifest.json", "model.safetensors", "optimizer.pt", "trainer_state.json", "model.safetensors.index.json", "adapter/config.json",
)  # fmt: skip
IN_DATA: Final = ("README.md", ".huggingface.yaml", "state.json", "dataset_dict.json", "dataset_info.json", "train.jsonl", "train.csv", "train.parquet", "train.arrow", "train.txt", "train.jsonl.gz")  # fmt: skip


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def ask(*questions: Callable[[], object]) -> None:
    """Ask; an error of ours is an answer."""
    for question in questions:
        try:
            answer = question()
        except HoldfastError:
            continue
        assert BROKEN not in repr(answer)
        assert "holdfast failed" not in repr(answer)


def cases(files: Sequence[str]) -> list[str]:
    return [f"{thing} as {file}" for file in files for thing in THINGS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").write_text('{"text": "a b"}\n' * 3, encoding="utf-8")
    return tmp_path


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", FIELDS)
def test_a_job_may_name_anything(folder: Path, field: str, name: str) -> None:
    """A job's data, model, mapping or reward that no file can be."""
    (folder / "job.yaml").write_text(json.dumps(FIELDS[field](NAMES[name])), encoding="utf-8")
    ask(lambda: holdfast.check("job.yaml", offline=True), lambda: holdfast.check(".", offline=True))
    if name != "the root":  # of which `inspect` would list every file
        ask(lambda: holdfast.inspect("job.yaml", offline=True))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", NAMES)
def test_a_command_may_be_given_any_name(folder: Path, name: str) -> None:
    """The names on the command line, and those that a script gives."""
    given = NAMES[name]
    (folder / "train.py").write_text(SCRIPT.format(name=ascii(given)), encoding="utf-8")
    ask(
        lambda: holdfast.check("train.py", offline=True),
        lambda: holdfast.verify(given),
        lambda: holdfast.show(given, runs=folder),
        lambda: holdfast.inspect("d.jsonl", model=given, offline=True),
        lambda: holdfast.inspect("d.jsonl", rewards=[f"{given}:f"], method="grpo", offline=True),
    )
    if name != "the root":
        ask(
            lambda: holdfast.check(given, offline=True),
            lambda: holdfast.inspect(given, offline=True),
            lambda: holdfast.diagnose(given) if name != "a device" else None,
            lambda: holdfast.runs(runs=given),
        )


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", sampled(cases(IN_DATA), EVERY))
def test_a_file_of_a_dataset_may_be_anything(folder: Path, name: str) -> None:
    """Data files and what describes them."""
    thing, file = name.split(" as ")
    data = folder / "data"
    data.mkdir()
    (data / "other.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    THINGS[thing](data / file)
    (folder / "job.yaml").write_text(json.dumps(FIELDS["its data"]("data")), encoding="utf-8")
    ask(lambda: holdfast.inspect("data", offline=True), lambda: holdfast.check("job.yaml", offline=True))
    if (data / file).is_file() and thing != "a file of 3 GB":
        ask(lambda: holdfast.inspect(f"data/{file}", offline=True))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", sampled(cases(IN_A_MODEL), EVERY))
def test_a_file_of_a_model_may_be_anything(folder: Path, name: str) -> None:
    """A model's small files and its weights."""
    thing, file = name.split(" as ")
    (folder / "m").mkdir()
    (folder / "m" / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    (folder / "m" / file).unlink(missing_ok=True)
    THINGS[thing](folder / "m" / file)
    (folder / "job.yaml").write_text(json.dumps(FIELDS["its model"]("m")), encoding="utf-8")
    ask(lambda: holdfast.check("job.yaml", offline=True), lambda: holdfast.verify("m"))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", sampled(cases(IN_A_CHECKPOINT), EVERY))
def test_a_file_of_a_checkpoint_may_be_anything(folder: Path, name: str) -> None:
    """The manifest, and the files that it names or that are there without one."""
    thing, file = name.split(" as ")
    for kept in (True, False):
        checkpoint = save_checkpoint(folder / str(kept), 5)
        if not kept:
            (checkpoint / "holdfast-manifest.json").unlink()
        (checkpoint / file).unlink(missing_ok=True)
        THINGS[thing](checkpoint / file)
        ask(partial(holdfast.verify, checkpoint))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", sampled(cases(IN_A_RUN), EVERY))
def test_a_file_of_a_run_may_be_anything(folder: Path, name: str) -> None:
    """What lies in a run's folder."""
    thing, file = name.split(" as ")
    run = folder / "runs" / "a"
    (run / "attempts" / "1").mkdir(parents=True)
    (run / "results").mkdir()
    lines = [
        {"kind": "requested", "fields": {"at_s": 1.0, "folder": str(run), "about": {"method": "sft"}}},
        {"kind": "starting", "fields": {"at_s": 2.0, "attempt": 1, "backend": "local"}},
        {"kind": "started", "fields": {"at_s": 2.0, "attempt": 1, "id": "1"}},
        {"kind": "closed", "fields": {"at_s": 3.0, "stage": "failed", "because": "it failed", "codes": ["ARG101"]}},
    ]
    (run / "ledger.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (run / file).unlink(missing_ok=True)
    THINGS[thing](run / file)
    ask(
        lambda: holdfast.runs(runs="runs"),
        lambda: holdfast.show("a", runs="runs"),
        lambda: holdfast.logs("a", runs="runs"),
        lambda: holdfast.diagnose("a", runs="runs"),
    )
