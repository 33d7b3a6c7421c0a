"""Damaged models and adapters end an evaluation and an export with an error: never with figures or files of other weights."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from holdfast.cli.main import run_command
from tests.helpers.exported import edit_json, exportable_models  # noqa: F401 - the fixture `exportable`
from tests.helpers.forked_children import (
    fork_evaluations,  # noqa: F401 - the fixture `forked_evaluations`
    fork_exports,  # noqa: F401 - the fixture `forked_exports`
)

pytestmark = [pytest.mark.train, pytest.mark.usefixtures("forked_evaluations", "forked_exports")]
Tensors = dict[str, tuple[str, list[int], bytes]]
Damage = Callable[[Path], object]
MODEL, ADAPTER = "model.safetensors", "adapter_model.safetensors"


def rewrite(name: str, change: Callable[[Tensors], Tensors]) -> Damage:
    """Tensors of a file, as type, shape and bytes by name, changed and written anew."""

    def damage(folder: Path) -> None:
        data = (folder / name).read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        meta = header.pop("__metadata__")
        taken = {
            key: (each["dtype"], each["shape"], data[start + each["data_offsets"][0] : start + each["data_offsets"][1]])
            for key, each in header.items()
        }
        entries: dict[str, Any] = {"__metadata__": meta}
        at, parts = 0, []
        for key, (dtype, shape, part) in change(taken).items():
            entries[key] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(part)]}
            at += len(part)
            parts.append(part)
        text = json.dumps(entries).encode()
        text += b" " * (-len(text) % 8)
        (folder / name).write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))

    return damage


def renamed(name: str, pattern: str, by: str) -> Damage:
    return rewrite(name, lambda tensors: {re.sub(pattern, by, key): each for key, each in tensors.items()})


def without(name: str, part: str) -> Damage:
    return rewrite(name, lambda tensors: {key: each for key, each in tensors.items() if part not in key})


def instead(name: str, make: Callable[[Path], object]) -> Damage:
    """Something else in the place of a file."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return damage


def one_more_layer(tensors: Tensors) -> Tensors:
    return tensors | {key.replace("layers.1.", "layers.2."): each for key, each in tensors.items()}


def as_integers(tensors: Tensors) -> Tensors:
    return {key: ("I32", shape, part) for key, (_, shape, part) in tensors.items()}


def a_row_less(tensors: Tensors) -> Tensors:
    key = "model.embed_tokens.weight"
    dtype, (rows, width), part = tensors[key]
    return tensors | {key: (dtype, [rows - 1, width], part[: len(part) // rows * (rows - 1)])}


def other_ids(folder: Path) -> None:
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"] = {token: 2 * number for token, number in content["model"]["vocab"].items()}
    path.write_text(json.dumps(content))


FROM_FILES: Final[dict[str, tuple[str, Damage, str]]] = {
    "weights as integers": ("tiny", rewrite(MODEL, as_integers), "weights are no integers"),
    "an adapter that is cut": ("lora", lambda folder: os.truncate(folder / ADAPTER, 9000), "is truncated: 9000 of"),
    "an adapter without weights": ("lora", lambda folder: (folder / ADAPTER).unlink(), "holds no weights"),
    "an adapter that is waited for": ("lora", instead(ADAPTER, os.mkfifo), "holds no weights"),
    "an adapter that is a folder": ("lora", instead(ADAPTER, Path.mkdir), "holds no weights"),
}
"""What is seen before anything is loaded: the model, the damage, and the words."""
FROM_LOADING: Final[dict[str, tuple[str, Damage, str]]] = {
    "a weight is missing": ("tiny", without(MODEL, "model.norm"), "lacks 1 weights: model.norm.weight"),
    "all weights have other names": ("tiny", renamed(MODEL, "^model", "net"), "lacks "),
    "a weight of another shape": ("tiny", rewrite(MODEL, a_row_less), "other shapes than config.json says"),
    "more layers": ("tiny", rewrite(MODEL, one_more_layer), "layers that config.json does not count: model.layers.2"),
    "another architecture": (
        "tiny",
        lambda folder: edit_json(folder / "config.json", model_type="llama", architectures=["LlamaForCausalLM"]),
        "biases that the architecture of config.json does not add",
    ),
    "the tokenizer of another model": ("tiny", other_ids, "the tokenizer is that of another model"),
    "half of an adapter": ("lora", without(ADAPTER, "lora_B"), "14 of its tensors are missing"),
    "an adapter with other names": ("lora", renamed(ADAPTER, "q_proj", "query"), "have no place in the base"),
    "an adapter of another model": ("foreign", lambda _: None, "have no place in the base"),
}
"""What only loading shows."""
FEW: Final = ("more layers", "the tokenizer of another model", "half of an adapter")
"""Those that are exported in `make check`, too; each takes half a second."""
EACH_LOADED: Final = [
    pytest.param(verb, name, marks=[] if verb == "evaluate" or name in FEW else [pytest.mark.long])
    for verb in ("evaluate", "export")
    for name in FROM_LOADING
]
WORDS: Final = {
    "evaluate": ("--on", "rows.jsonl", "--no-base", "--results", "out"),
    "export": ("--out", "out"),
}
ROWS: Final = '{"prompt": "3 plus 4 equals ", "completion": "7"}\n'


def error_of(
    verb: str, folder: Path, damage: tuple[str, Damage, str], models: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """The exit code, and what is said of a damaged model; nothing is written."""
    name, hurt, _ = damage
    shutil.copytree(models / name, folder / "model")
    hurt(folder / "model")
    (folder / "rows.jsonl").write_text(ROWS)
    code = run_command([verb, "./model", *WORDS[verb], "--offline", "--format", "json"])
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["fix"]
    assert not [*folder.glob("out/evaluation-*"), *folder.glob("out/*.safetensors")]
    return code, error["what"]


@pytest.mark.parametrize("verb", WORDS)
@pytest.mark.parametrize("name", FROM_FILES)
def test_damage_that_the_files_show(
    verb: str,
    name: str,
    exportable: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Integers were taken for weights, and a FIFO was waited for; nothing is loaded."""
    monkeypatch.chdir(tmp_path)
    code, what = error_of(verb, tmp_path, FROM_FILES[name], exportable, capsys)

    assert code == 2
    assert FROM_FILES[name][2] in what


@pytest.mark.parametrize(("verb", "name"), EACH_LOADED)
def test_damage_that_loading_shows(
    verb: str,
    name: str,
    exportable: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The libraries warn, and go on with random weights, or without those that they have no place for."""
    monkeypatch.chdir(tmp_path)
    code, what = error_of(verb, tmp_path, FROM_LOADING[name], exportable, capsys)

    assert code in (1, 2)
    assert FROM_LOADING[name][2] in what
    assert "/.export" not in what
