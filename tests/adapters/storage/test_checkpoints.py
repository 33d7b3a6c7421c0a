"""Checkpoints: what was damaged, cut short or replaced is found, and never resumed from."""

import errno
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.storage.checkpoints import (
    NO_DAMAGE,
    UNWATCHED,
    newest_whole,
    require_resumable,
    verify_checkpoint,
)
from holdfast.core.errors import UsageError
from holdfast.core.run.checkpoint import CheckpointProblem
from holdfast.engine.run.answers import verify_result
from holdfast.payload.runtime import MANIFEST, seal, stamps_of
from holdfast.results import to_json
from tests.helpers.checkpoints import WEIGHTS, save_checkpoint, save_safetensors
from tests.helpers.fakes import any_step


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return save_checkpoint(tmp_path, 5)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scribble(path: Path) -> None:
    path.write_bytes(b"not safetensors at all")


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


def test_a_checkpoint_as_it_was_saved_is_whole(checkpoint: Path) -> None:
    """Its step is the manifest's."""
    found = verify_checkpoint(checkpoint)

    assert (found.verdict, found.step, found.problems) == ("whole", 5, ())
    assert to_json(verify_result(found)) == {
        "schema": 1,
        "verb": "verify",
        "verdict": "whole",
        "path": str(checkpoint),
        "step": 5,
        "problems": [],
    }


@pytest.mark.parametrize("name", [WEIGHTS, "adapter/config.json", "trainer_state.json"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [(flip, "changed"), (truncate, "truncated"), (append, "grown"), (Path.unlink, "missing")],
)
def test_damage_is_found(checkpoint: Path, name: str, damage: Callable[[Path], None], message: str) -> None:
    """In any file, however little, and the file is named."""
    damage(checkpoint / name)
    found = verify_checkpoint(checkpoint)

    assert found.verdict == "damaged"
    assert [problem.file for problem in found.problems] == [name]
    assert found.problems[0].message.startswith(message)


def test_a_manifest_alone_is_no_damage(checkpoint: Path) -> None:
    """As of a run elsewhere, whose checkpoints stay there; training is not resumed from it, and an older one is."""
    older = save_checkpoint(checkpoint.parent, 3)
    manifest = (checkpoint / MANIFEST).read_bytes()
    shutil.rmtree(checkpoint)
    checkpoint.mkdir()
    (checkpoint / MANIFEST).write_bytes(manifest)
    found = verify_checkpoint(checkpoint)

    assert (found.verdict, found.step, [each.file for each in found.problems]) == ("unverifiable", 5, [MANIFEST])
    assert newest_whole(checkpoint.parent, usable=any_step)[0] == older


def test_a_truncated_file_is_told_with_its_sizes(checkpoint: Path) -> None:
    """A reader sees how much is lost."""
    whole = (checkpoint / WEIGHTS).stat().st_size
    truncate(checkpoint / WEIGHTS)

    assert verify_checkpoint(checkpoint).problems[0].message == f"truncated: {whole - 1} of {whole} bytes"


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"step": 5}', '{"step": 5, "files": {"a": {}}}', '{"step": 5, "files": 1}'),
        *('{"step": 1e999, "files": {}}', "[" * 200_000, '{"step": 5, "files": ' + '{"a":' * 100_000),
    ],
)
def test_a_manifest_that_is_none_is_damage(checkpoint: Path, text: str) -> None:
    """It is told as such, and the folder's name gives the step."""
    (checkpoint / MANIFEST).write_text(text)
    (checkpoint / "a").write_text("")
    found = verify_checkpoint(checkpoint)

    assert (found.verdict, found.step, found.problems[0].file) == ("damaged", 5, MANIFEST)


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_no_manifest(checkpoint: Path, make: Callable[[Path], None]) -> None:
    """A FIFO, a folder or a device in its place: damaged, and nothing waits or is read without an end."""
    (checkpoint / MANIFEST).unlink()
    make(checkpoint / MANIFEST)

    assert verify_checkpoint(checkpoint).verdict == "damaged"


@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", WEIGHTS, "adapter_model.safetensors"])
def test_a_manifest_that_leaves_a_file_out_does_not_vouch_for_it(checkpoint: Path, name: str) -> None:
    """What training continues from and the manifest does not name may be from anywhere."""
    manifest = json.loads((checkpoint / MANIFEST).read_text())
    manifest["files"].pop(name, None)
    (checkpoint / MANIFEST).write_text(json.dumps(manifest))
    (checkpoint / name).write_bytes(b"of another save")
    found = verify_checkpoint(checkpoint)

    assert found.verdict == "damaged"
    assert CheckpointProblem(name, "not in the manifest") in found.problems
    assert newest_whole(checkpoint.parent, usable=any_step)[0] is None


def test_a_file_beside_the_model_is_no_damage(checkpoint: Path) -> None:
    """A model card, a log, and notes may be added after the save."""
    for name in ("README.md", "notes.txt", ".DS_Store", "adapter/README.md"):
        (checkpoint / name).write_text("x")

    assert verify_checkpoint(checkpoint).verdict == "whole"


def test_a_manifest_of_another_checkpoint_is_damage(checkpoint: Path) -> None:
    """A folder that was copied under another number is not that step."""
    other = checkpoint.with_name("checkpoint-12")
    shutil.copytree(checkpoint, other)
    found = verify_checkpoint(other)

    assert (found.verdict, found.problems[0].file) == ("damaged", MANIFEST)
    assert "step 5" in found.problems[0].message
    assert newest_whole(checkpoint.parent, usable=any_step)[0] == checkpoint


@pytest.mark.parametrize("sealed", [True, False])
def test_a_checkpoint_without_weights_is_damaged(checkpoint: Path, sealed: bool) -> None:
    """Nothing can be resumed from it, whatever a manifest says of the rest."""
    (checkpoint / WEIGHTS).unlink()
    (checkpoint / MANIFEST).unlink()
    (checkpoint / "rng_state_0.pth").write_bytes(b"x")
    if sealed:
        seal(checkpoint, stamps_of(checkpoint), step=5, world_size=1)
    found = verify_checkpoint(checkpoint)

    assert found.verdict == "damaged"
    assert "no weights" in found.problems[-1].message


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["optimizer.pt", "pytorch_model.bin", "rng_state.pth"])
def test_an_archive_that_was_cut_off_is_damaged(checkpoint: Path, name: str, kept: float) -> None:
    """What `torch.save` writes is a zip archive with its contents listed at the end; nothing is unpickled."""
    (checkpoint / MANIFEST).unlink()
    with zipfile.ZipFile(checkpoint / name, "w") as archive:
        for number in range(20):
            archive.writestr(f"archive/data/{number}", bytes(number * 100))
    assert verify_checkpoint(checkpoint).verdict == "unverifiable"
    data = (checkpoint / name).read_bytes()
    (checkpoint / name).write_bytes(data[: int(len(data) * kept)])
    found = verify_checkpoint(checkpoint)

    assert (found.verdict, found.problems[-1].file) == ("damaged", name)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname"])
def test_a_manifest_cannot_vouch_for_files_elsewhere(checkpoint: Path, name: str) -> None:
    """They are no part of the checkpoint."""
    (checkpoint.parent / "outside").write_text("")
    told = {"step": 5, "files": {name: {"bytes": 0, "sha256": ""}}}
    (checkpoint / MANIFEST).write_text(json.dumps(told))

    assert CheckpointProblem(name, "not a file of this folder") in verify_checkpoint(checkpoint).problems


def test_without_a_manifest_nothing_is_certain(checkpoint: Path) -> None:
    """A save that was cut short looks like this, so it is not called whole."""
    (checkpoint / MANIFEST).unlink()
    found = verify_checkpoint(checkpoint)

    assert (found.verdict, found.step) == ("unverifiable", 5)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (WEIGHTS, truncate),
        (WEIGHTS, empty),
        (WEIGHTS, scribble),
        (WEIGHTS, append),
        ("optimizer.pt", empty),
        ("trainer_state.json", Path.unlink),
    ],
)
def test_without_a_manifest_plain_damage_is_still_seen(
    checkpoint: Path, name: str, damage: Callable[[Path], None]
) -> None:
    """An empty file, weights shorter than their header says, a missing state."""
    (checkpoint / MANIFEST).unlink()
    damage(checkpoint / name)
    found = verify_checkpoint(checkpoint)

    assert found.verdict == "damaged"
    assert found.problems[-1].file == name


def test_a_models_folder_needs_no_trainer_state(tmp_path: Path) -> None:
    """It is no checkpoint; without a manifest it is merely unverifiable."""
    save_safetensors(tmp_path / WEIGHTS, b"abc")
    found = verify_checkpoint(tmp_path)

    assert (found.verdict, found.step, len(found.problems)) == ("unverifiable", None, 1)


def test_a_folder_that_holdfast_did_not_save_is_not_called_cut_short(tmp_path: Path) -> None:
    """Nothing is wrong with a downloaded model; there is merely no list of its files."""
    save_safetensors(tmp_path / WEIGHTS, b"abc")
    (tmp_path / ".gitattributes").write_text("")
    found = verify_checkpoint(tmp_path)

    assert (found.verdict, len(found.problems)) == ("unverifiable", 1)
    assert "holdfast did not watch the save" in found.problems[0].message
    assert "no damage is apparent" in found.problems[0].message
    assert "cut short" not in found.problems[0].message


def test_a_save_beside_sealed_ones_was_cut_short(checkpoint: Path) -> None:
    """Holdfast watched the others, so it would have sealed this one."""
    (save_checkpoint(checkpoint.parent, 10) / MANIFEST).unlink()

    assert "the save was cut short" in verify_checkpoint(checkpoint.with_name("checkpoint-10")).problems[0].message


def test_a_weight_file_that_the_index_lists_is_missed(tmp_path: Path) -> None:
    """A download that was broken off leaves some of the files."""
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    save_safetensors(tmp_path / names[0], b"abc")
    index = {"weight_map": {"a": names[0], "b": names[1]}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    found = verify_checkpoint(tmp_path)

    assert (found.verdict, found.problems[-1].file) == ("damaged", names[1])


def test_what_is_no_folder_is_a_wrong_question(tmp_path: Path) -> None:
    """The message says where and how to fix it."""
    with pytest.raises(UsageError) as error:
        verify_checkpoint(tmp_path / "nothing")

    assert str(tmp_path / "nothing") in str(error.value)


def test_the_newest_whole_checkpoint_is_taken(tmp_path: Path) -> None:
    """By number, not by name; what is newer and not whole is passed over and told."""
    whole, cut, damaged, unresumable = (save_checkpoint(tmp_path, step) for step in (9, 10, 20, 30))
    (cut / MANIFEST).unlink()
    flip(damaged / "optimizer.pt")
    (unresumable / "scheduler.pt").unlink()
    seal(unresumable, stamps_of(unresumable), step=30, world_size=1)
    (tmp_path / "checkpoint-best").mkdir()
    (tmp_path / "checkpoint-40").write_text("a file")

    found, passed_over = newest_whole(tmp_path, usable=any_step)

    assert found == whole
    assert [(each.step, each.verdict) for each in passed_over] == [(30, "whole"), (20, "damaged"), (10, "unverifiable")]
    assert passed_over[0].problems[0].file == "scheduler.pt"


def test_with_nothing_whole_there_is_none(tmp_path: Path) -> None:
    """Nor in a folder that does not exist."""
    shutil.rmtree(save_checkpoint(tmp_path, 5) / "adapter")

    assert newest_whole(tmp_path, usable=any_step)[0] is None
    assert newest_whole(tmp_path / "nothing", usable=any_step) == (None, [])


def test_a_model_is_sealed_without_what_grows_beside_it(checkpoint: Path) -> None:
    """Checkpoints and logs in the same output folder are not the model."""
    output = checkpoint.parent
    (output / "runs").mkdir()
    (output / "runs" / "events.out.tfevents.1").write_text("log")
    (output / WEIGHTS).write_text("weights")

    assert list(stamps_of(output)) == [output / WEIGHTS]


@pytest.mark.parametrize(
    "names", [(), ("rows.jsonl",), ("checkpoint-5/trainer_state.json",), ("model/model.safetensors",)]
)
def test_a_folder_without_weights_is_nothing_to_verify(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Of data, and of a parent of checkpoints, nothing is said of damage; a folder in it that can be verified is named."""
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")

    with pytest.raises(UsageError, match="nothing to verify") as refused:
        verify_checkpoint(tmp_path)

    inner = [name.rpartition("/")[0] for name in names if "/" in name]
    assert all(str(tmp_path / name) in refused.value.fix for name in inner)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        (WEIGHTS, empty, "empty"),
        ("optimizer.pt", empty, "empty"),
        (WEIGHTS, truncate, "truncated: 271 of 272 bytes"),
        (WEIGHTS, scribble, "has no header of a safetensors file"),
        ("trainer_state.json", Path.unlink, "missing: training cannot resume"),
    ],
)
def test_damage_is_told_in_words_and_nothing_says_that_there_is_none(
    checkpoint: Path, name: str, damage: Callable[[Path], None], message: str
) -> None:
    """The folder and the missing manifest are named, too."""
    (checkpoint / MANIFEST).unlink()
    damage(checkpoint / name)
    found = verify_checkpoint(checkpoint)

    assert found.path == str(checkpoint)
    assert [(problem.file, problem.message) for problem in found.problems] == [(MANIFEST, UNWATCHED), (name, message)]


def test_what_is_missing_for_a_resumption_is_told(checkpoint: Path) -> None:
    """A checkpoint without its optimizer is whole, and none to resume from."""
    (checkpoint / "optimizer.pt").unlink()
    seal(checkpoint, stamps_of(checkpoint), step=5, world_size=1)

    _, ((found),) = newest_whole(checkpoint.parent, usable=any_step)
    assert [(each.file, each.message) for each in found.problems] == [
        ("optimizer.pt", "missing: training cannot resume")
    ]


def test_what_can_be_read_of_no_manifest_is_said(checkpoint: Path) -> None:
    """Such as one that was written by something else; a file elsewhere is named."""
    (checkpoint / MANIFEST).write_text("no JSON")
    (problem,) = verify_checkpoint(checkpoint).problems
    assert (problem.file, problem.message) == (MANIFEST, "unreadable: it is not a manifest of holdfast")

    (checkpoint / MANIFEST).write_text(json.dumps({"step": 5, "files": {"../x": {"bytes": 0, "sha256": ""}}}))
    assert CheckpointProblem("../x", "not a file of this folder") in verify_checkpoint(checkpoint).problems


def test_an_index_that_cannot_be_read_breaks_nothing(tmp_path: Path) -> None:
    """Its bytes may be anything; what it lists is told to be missing in its name."""
    save_safetensors(tmp_path / WEIGHTS, b"abc")
    index = tmp_path / "model.safetensors.index.json"
    index.write_bytes(b"\xff\xfe not JSON")
    assert verify_checkpoint(tmp_path).problems[0].message == f"{UNWATCHED}{NO_DAMAGE}"

    index.write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    assert verify_checkpoint(tmp_path).problems[-1].message == "missing: model.safetensors.index.json lists it"


def test_a_question_about_no_checkpoint_is_answered_with_the_way_out(tmp_path: Path) -> None:
    """What, where and how to fix it."""
    for path, what in (
        (tmp_path / "nothing", "no such checkpoint"),
        (tmp_path, "nothing to verify: the folder has no weights"),
    ):
        with pytest.raises(UsageError) as refused:
            verify_checkpoint(path)
        assert (refused.value.what, refused.value.where) == (what, str(path))
        assert refused.value.fix == "name the folder of a checkpoint or of a model"


@pytest.mark.parametrize("name", ["config.json", "adapter_config.json"])
@pytest.mark.parametrize("beside", [(), ("training_args.bin",), ("optimizer.pt", "tokenizer.json")])
def test_a_model_that_was_saved_without_weights_is_damaged(tmp_path: Path, name: str, beside: tuple[str, ...]) -> None:
    """Its settings are there, and what was learned is not: `training_args.bin` is no model."""
    for each in (name, *beside):
        (tmp_path / each).write_text("{}")

    found = verify_checkpoint(tmp_path)

    assert found.verdict == "damaged"
    assert CheckpointProblem("model.safetensors", "missing: the folder has no weights") in found.problems


@pytest.mark.parametrize("inner", ["unet", "checkpoint-7"])
def test_a_folder_whose_weights_lie_in_another_one_lacks_none(tmp_path: Path, inner: str) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / inner).mkdir()
    save_safetensors(tmp_path / inner / WEIGHTS, b"abc")

    with pytest.raises(UsageError, match="nothing to verify") as raised:
        verify_checkpoint(tmp_path)
    assert inner in (raised.value.fix or "")


@pytest.mark.parametrize("state", ["[]", '{"global_step": "x"}', '{"global_step": 1e400}', "", "[" * 10_000])
def test_a_checkpoint_that_a_person_names_has_a_step(tmp_path: Path, state: str) -> None:
    """Without one, the trainer would start from the beginning."""
    folder = save_checkpoint(tmp_path, 8)
    (folder / MANIFEST).unlink()
    (folder / "trainer_state.json").write_text(state or " ")

    with pytest.raises(UsageError, match=r"does not say at which step"):
        require_resumable(folder, str(folder))


def test_a_file_that_cannot_be_read_is_named(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the manifest, which can."""

    def open_or_fail(path: Path) -> BinaryIO:
        if path.name == "optimizer.pt":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return open_foreign(path)

    monkeypatch.setattr("holdfast.adapters.storage.checkpoints.open_foreign", open_or_fail)
    found = verify_checkpoint(checkpoint)

    assert [(each.file, each.message) for each in found.problems] == [
        ("optimizer.pt", "cannot be read: Input/output error")
    ]
