"""Whether what was pushed is on the Hub: judged by what lies here and what is listed there."""

from pathlib import Path

import pytest

from holdfast.adapters.local.stored import read_stored
from holdfast.core.check.hub import RepoTree, StoredFile
from holdfast.engine.run.delivery import SKEW_S, judge_delivery, needed_files

MODEL = StoredFile(bytes=8, digests={"sha256": "aa", "git": "bb"})
OTHER = StoredFile(bytes=8, digests={"sha256": "cc"})
CONFIG = StoredFile(bytes=2, digests={"git": "dd"})
HERE = {"model.safetensors": MODEL, "config.json": CONFIG}


@pytest.mark.parametrize(
    ("there", "verdict", "told"),
    [
        (
            RepoTree(files={"model.safetensors": StoredFile(bytes=8, digests={"sha256": "aa"}), "config.json": CONFIG}),
            "arrived",
            "",
        ),
        (RepoTree(files={"model.safetensors": StoredFile(bytes=8), "config.json": StoredFile(bytes=3)}), "arrived", ""),
        (RepoTree(files={"model.safetensors": OTHER, "config.json": CONFIG}), "missing", "model.safetensors"),
        (
            RepoTree(files={"model.safetensors": StoredFile(bytes=7), "config.json": CONFIG}),
            "missing",
            "model.safetensors",
        ),
        (RepoTree(files={"model.safetensors": MODEL}), "missing", "config.json"),
        (RepoTree(files={".gitattributes": CONFIG}), "missing", "config.json, model.safetensors"),
        (RepoTree(files=None), "missing", "no me/model"),
    ],
)
def test_what_lies_here_must_be_there(there: RepoTree, verdict: str, told: str) -> None:
    """Weights byte by byte, where the Hub tells of a digest; of settings it is enough that they are there."""
    found = judge_delivery("me/model", HERE, there, pushed_s=0)

    assert found.verdict == verdict
    assert told in found.because


@pytest.mark.parametrize(
    ("files", "modified_s", "verdict"),
    [
        ({"adapter_model.safetensors": MODEL}, 1000.0, "arrived"),
        ({"adapter_model.safetensors": MODEL}, 1000.0 - SKEW_S, "arrived"),
        ({"adapter_model.safetensors": MODEL}, 900.0 - SKEW_S, "missing"),
        ({"adapter_model.safetensors": MODEL}, 0.0, "arrived"),
        ({"config.json": CONFIG}, 1001.0, "missing"),
        ({"config.json": CONFIG, "training_args.bin": OTHER, "optimizer.bin": OTHER}, 1001.0, "missing"),
    ],
)
def test_a_folder_that_is_gone_leaves_the_time_of_the_commit(
    files: dict[str, StoredFile], modified_s: float, verdict: str
) -> None:
    """Weights must be there, and a commit as new as the push, as far as clocks agree."""
    there = RepoTree(files=files, modified_s=modified_s)

    assert judge_delivery("me/model", {}, there, pushed_s=1000).verdict == verdict


def test_the_reason_names_what_is_not_there() -> None:
    """Of many files the first three, and how many there are beside them."""
    names = [f"model-{number}.safetensors" for number in range(1, 6)]
    empty = RepoTree(files={})

    reasons = [
        judge_delivery("me/m", dict.fromkeys(names[:count], MODEL), empty, pushed_s=0).because for count in (3, 4, 5)
    ]
    named = f"me/m lacks pushed files, or has others: {', '.join(names[:3])}"
    assert reasons == [named, f"{named} and 1 more", f"{named} and 2 more"]
    assert judge_delivery("me/m", {}, empty, pushed_s=0).because == "me/m holds no weights"
    old = RepoTree(files={"model.safetensors": MODEL}, modified_s=1.0)
    assert (
        judge_delivery("me/m", {}, old, pushed_s=9999).because == "nothing was committed to me/m since the push began"
    )


def test_digests_are_those_of_the_hub(tmp_path: Path) -> None:
    """As `git hash-object` and `sha256sum` print them for the text `hello` with its line end."""
    path = tmp_path / "config.json"
    path.write_bytes(b"hello\n")

    found = read_stored(path)

    assert found.bytes == 6
    assert found.digests["git"] == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert found.digests["sha256"] == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def test_only_what_a_model_needs_is_looked_for() -> None:
    """A card, the trainer's own settings and our manifest may differ."""
    names = [
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "holdfast-manifest.json",
        "training_args.bin",
    ]
    names += ["model-00001-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.json", "pytorch_model.bin"]

    assert sorted(needed_files(names)) == sorted(
        name for name in names if name not in ("README.md", "holdfast-manifest.json", "training_args.bin")
    )
