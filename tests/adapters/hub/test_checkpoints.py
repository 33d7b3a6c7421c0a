"""A checkpoint on the Hub is downloaded whole, or not at all."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.adapters.hub.answers import ResponseCache
from holdfast.adapters.hub.checkpoints import HubCheckpoint, download_checkpoint, parse_hub_checkpoint
from holdfast.adapters.storage.checkpoints import require_resumable
from holdfast.core.errors import HoldfastError, SourceError, UsageError
from holdfast.core.run.checkpoint import MANIFEST
from holdfast.payload.runtime import seal, stamps_of
from tests.helpers.checkpoints import save_checkpoint
from tests.helpers.hub.server import LoopbackHub, loopback_hub

Files = dict[str, bytes]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that every part of this process asks, and of which nothing is known yet."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("holdfast.adapters.hub.client.ANSWERS", ResponseCache())
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with loopback_hub() as hub:
        for name, value in hub.variables.items():
            monkeypatch.setenv(name, value)
        yield hub


def saved(folder: Path, step: int, *, sealed: bool = True) -> Files:
    """Return the files of a checkpoint, by their names in it."""
    path = save_checkpoint(folder, step)
    (path / MANIFEST).unlink()
    (path / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    if sealed:
        seal(path, stamps_of(path), step=step, world_size=1)
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in path.rglob("*") if each.is_file()}


def under(name: str, files: Files) -> Files:
    return {f"{name}/{each}": content for each, content in files.items()}


def fetch(address: str, to: Path) -> Path:
    """Download and verify a checkpoint, as a run does before it starts."""
    folder = download_checkpoint(address, to, os.environ)
    require_resumable(folder, address)
    return folder


@pytest.mark.parametrize(
    ("address", "step"),
    [("hf://me/model", 8), ("hf://me/model/checkpoint-4", 4), ("hf://models/me/model@main/last-checkpoint/", 8)],
)
def test_the_newest_checkpoint_or_a_named_one_is_downloaded(
    hub: LoopbackHub, tmp_path: Path, address: str, step: int
) -> None:
    """Under the name that its step gives it, with the same files, and nothing that an older one left in its folder."""
    files = {each: saved(tmp_path / str(each), each) for each in (4, 8)}
    older = {"rng_state_1.pth": b"of more processes"}
    hub.add_model(
        "me/model", under("last-checkpoint", files[8] | older) | under("checkpoint-4", files[4]) | {"a.bin": b"1"}
    )
    folder = fetch(address, tmp_path / "to")

    assert folder == tmp_path / "to" / f"checkpoint-{step}"
    assert {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()} == files[step].keys()


@pytest.mark.parametrize(("last", "numbered", "newest"), [(8, 4, 8), (8, 12, 12)])
def test_the_newest_is_so_by_its_step(hub: LoopbackHub, tmp_path: Path, last: int, numbered: int, newest: int) -> None:
    """`last-checkpoint` may be left over from before `hub_strategy` was changed."""
    files = {each: saved(tmp_path / str(each), each) for each in (last, numbered)}
    hub.add_model("me/model", under("last-checkpoint", files[last]) | under(f"checkpoint-{numbered}", files[numbered]))
    folder = fetch("hf://me/model", tmp_path / "to")

    assert folder == tmp_path / "to" / f"checkpoint-{newest}"
    assert {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()} == files[newest].keys()


def test_a_pull_request_is_a_revision() -> None:
    assert parse_hub_checkpoint("hf://me/model@refs/pr/1/checkpoint-5") == HubCheckpoint(
        "me/model", "refs/pr/1", "checkpoint-5"
    )


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("lost", ["optimizer.pt", "model.safetensors", "trainer_state.json"])
def test_half_an_upload_is_never_taken_for_whole(hub: LoopbackHub, tmp_path: Path, lost: str, *, sealed: bool) -> None:
    """With a manifest of holdfast, and without one."""
    files = saved(tmp_path, 8, sealed=sealed)
    del files[lost]
    hub.add_model("me/model", under("last-checkpoint", files))
    with pytest.raises(UsageError, match=r"cannot resume from|no readable trainer_state"):
        fetch("hf://me/model", tmp_path / "to")


def test_a_mixture_of_two_checkpoints_is_not_whole(hub: LoopbackHub, tmp_path: Path) -> None:
    """Each file is one of a checkpoint, and the manifest is another's."""
    old, new = (saved(tmp_path / name, step) for name, step in (("old", 4), ("new", 8)))
    hub.add_model("me/model", under("last-checkpoint", {**new, MANIFEST: old[MANIFEST]}))
    with pytest.raises(UsageError, match=r"cannot resume from checkpoint-8"):
        fetch("hf://me/model", tmp_path / "to")


def test_a_file_that_the_hub_does_not_send_ends_the_download(hub: LoopbackHub, tmp_path: Path) -> None:
    """And nothing of it is used."""
    hub.add_model("me/model", under("last-checkpoint", saved(tmp_path, 8)))
    hub.fail("/resolve/.*scheduler.pt", status=403)

    with pytest.raises(SourceError, match=r"could not be downloaded|did not arrive"):
        fetch("hf://me/model", tmp_path / "to")
    hub.heal()
    assert fetch("hf://me/model", tmp_path / "to").name == "checkpoint-8"


@pytest.mark.parametrize(
    ("address", "said", "fix"),
    [
        ("hf://me/nothing", "has no model me/nothing that you may see", "token"),
        ("hf://me/plain", "has no checkpoint", "hub_strategy"),
        ("hf://me/model/checkpoint-5", "has no checkpoint-5", "it has last-checkpoint"),
        ("hf://datasets/me/rows", "names no repository", "hf://owner/name"),
        ("hf://model", "names no repository", "hf://owner/name"),
    ],
)
def test_what_is_not_there_is_said(hub: LoopbackHub, tmp_path: Path, address: str, said: str, fix: str) -> None:
    hub.add_model("me/plain", {"model.safetensors": b"1"})
    hub.add_model("me/model", under("last-checkpoint", saved(tmp_path, 8)))
    with pytest.raises(HoldfastError, match=said) as raised:
        fetch(address, tmp_path / "to")
    assert fix in str(raised.value.fix)
