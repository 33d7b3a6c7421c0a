"""Checkpoints on disk: whether one is whole, and which is the newest that is.

Covered: every file of the manifest that the runtime writes last; without one, the damage that shows by itself.
Not covered: optimizers of FSDP and DeepSpeed, which save under other names, so that `newest_whole` passes their checkpoints over.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import is_zipfile

from holdfast.adapters.foreign_files import is_file, is_there, open_foreign, read_foreign_text
from holdfast.adapters.local.model_files import INDEX, model_of
from holdfast.adapters.local.weights import read_tensor_header
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.run.checkpoint import (
    CUT_SHORT,
    MANIFEST,
    NO_MANIFEST,
    RESUMABLE,
    STATE,
    CheckpointIntegrity,
    CheckpointProblem,
    IntegrityVerdict,
    Manifest,
    PromisedFile,
    describe_damage,
    parse_manifest,
)
from holdfast.core.text.json_text import parse_json
from holdfast.core.text.numbers import is_whole

CHECKPOINT = re.compile(r"checkpoint-(\d+)")
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack", ".npz")
"""Endings of the files that hold weights."""
CONFIGS = ("config.json", "adapter_config.json")
"""Files that a saved model, or an adapter, has beside its weights."""
SHARD = ".distcp"
"""Ending of the files of a distributed checkpoint of torch."""
NO_WEIGHTS = re.compile(r"(training_args|trainer_state|optimizer|scheduler|scaler|rng_state(_\d+)?)\.\w+")
"""Files that are no weights though they end like such."""
ARCHIVE = b"PK\x03\x04"
"""How a file of `torch.save` begins since torch 1.6: it is a zip archive."""
MANIFEST_BYTES = 100_000_000
"""More than the manifest of any model takes."""
MANY_FOLDERS = 2_000
"""Folders that are searched for one to suggest."""
EMPTY = (".gitattributes", ".gitignore", ".gitkeep", "__init__.py")
"""Files that may hold nothing."""
UNWATCHED = "missing: holdfast did not watch the save, so no list of the files with their hashes was written"
NO_DAMAGE = "; no damage is apparent"
NO_STEP = CheckpointProblem(STATE, "does not say at which step it was saved: training cannot resume")
ALONE = "alone: the files that it names are on the machine or in the bucket where they were written, or were deleted"


def verify_checkpoint(path: Path) -> CheckpointIntegrity:
    """Return the integrity of a checkpoint or a model folder; reads every byte that the manifest names.

    Raises:
        UsageError: It is no folder, or nothing in it was saved by a trainer.
    """
    if not path.is_dir():
        raise UsageError("no such checkpoint", where=str(path), fix="name the folder of a checkpoint or of a model")
    if not (path / MANIFEST).exists():
        _require_something(path)
        return _verify_without_manifest(path)
    if _files(path) == [MANIFEST]:
        problem = CheckpointProblem(MANIFEST, ALONE)
        return CheckpointIntegrity(path=str(path), step=_step_of(path), verdict="unverifiable", problems=(problem,))
    try:
        manifest = parse_manifest(read_foreign_text(path / MANIFEST, MANIFEST_BYTES))
    except (ValueError, OSError):
        problem = CheckpointProblem(MANIFEST, NO_MANIFEST)
        return CheckpointIntegrity(path=str(path), step=_step_of(path), verdict="damaged", problems=(problem,))
    problems = tuple(_compare(path, manifest))
    return CheckpointIntegrity(
        path=str(path), step=manifest.step, verdict="damaged" if problems else "whole", problems=problems
    )


def _require_something(folder: Path) -> None:
    """Check that a folder is a checkpoint or a saved model.

    Raises:
        UsageError: It is neither.
    """
    if _is_saved(folder):
        return
    inner = _folders_with_weights(folder) or sorted(path for path in folder.glob("checkpoint-*") if path.is_dir())
    fix = f"name one of its folders, such as {inner[-1]}" if inner else "name the folder of a checkpoint or of a model"
    raise UsageError("nothing to verify: the folder has no weights", where=str(folder), fix=fix)


def _is_saved(folder: Path) -> bool:
    """True of a checkpoint or a saved model, also if its weights are missing."""
    return (
        _step_of(folder) is not None
        or any(path.suffix in WEIGHTS for path in folder.iterdir())
        or bool(_listed(folder))
        or _lacks_weights(folder)
    )


def _folders_with_weights(folder: Path) -> list[Path]:
    """Return the folders below one that hold weights; only the first `MANY_FOLDERS` are searched."""
    walked = islice(os.walk(folder), MANY_FOLDERS)
    return sorted(Path(inside) for inside, _, files in walked if any(Path(name).suffix in WEIGHTS for name in files))


def require_resumable(folder: Path, where: str) -> CheckpointIntegrity:
    """Return the integrity of a checkpoint that a person named, and that training can resume from; without a manifest it is unverifiable.

    Raises:
        UsageError: It is damaged, or lacks what training resumes with.
    """
    integrity = verify_checkpoint(folder)
    cut = any(each.message == CUT_SHORT for each in integrity.problems)
    lacking = _lacking(folder) or ([] if step_in(folder) is not None else [NO_STEP])
    problems = (*(integrity.problems if cut or integrity.verdict == "damaged" else ()), *lacking)
    if problems:
        what = f"training cannot resume from {describe_damage(replace(integrity, problems=problems))}"
        raise UsageError(what, where=where, fix="name another checkpoint")
    return integrity


def load_settings(path: Path) -> Mapping[str, Any]:
    """Return the settings that a checkpoint was saved with; empty if its manifest does not have them, or is elsewhere."""
    with suppress(OSError, ValueError):
        manifest = parse_json(read_foreign_text(path / MANIFEST, MANIFEST_BYTES))
        found = manifest.get("settings") if isinstance(manifest, dict) else None
        return found if isinstance(found, dict) else {}
    return {}


def step_in(folder: Path) -> int | None:
    """Return the optimizer steps done when a checkpoint was saved, by its trainer's state; None if that does not tell."""
    with suppress(OSError, ValueError, TypeError):
        step = parse_json(read_foreign_text(folder / STATE))["global_step"]
        return step if is_whole(step) else None
    return None


def newest_whole(folder: Path, usable: Callable[[int], bool]) -> tuple[Path | None, list[CheckpointIntegrity]]:
    """Return the newest checkpoint that is whole and can be resumed from, and the newer ones that were passed over.

    Args:
        folder: Where the trainer saves its `checkpoint-<step>`.
        usable: Whether the checkpoint of a step is to be considered.
    """
    stepped = ((path, _step_of(path)) for path in folder.glob("checkpoint-*") if path.is_dir())
    found = [path for path, step in stepped if step is not None and usable(step)]
    passed_over: list[CheckpointIntegrity] = []
    for path in sorted(found, key=lambda path: _step_of(path) or 0, reverse=True):
        wholeness = verify_checkpoint(path)
        lacking = _lacking(path)
        if wholeness.verdict == "whole" and not lacking:
            return path, passed_over
        passed_over.append(replace(wholeness, problems=tuple(dict.fromkeys((*wholeness.problems, *lacking)))))
    return None, passed_over


def _lacking(folder: Path) -> list[CheckpointProblem]:
    """Return the files without which training would not resume as it was."""
    absent = [name for name in RESUMABLE if not (folder / name).is_file()]
    return [CheckpointProblem(name, "missing: training cannot resume") for name in absent]


def _step_of(path: Path) -> int | None:
    named = CHECKPOINT.fullmatch(path.name)
    return int(named[1]) if named else None


def _verify_without_manifest(path: Path) -> CheckpointIntegrity:
    damage = list(_apparent_damage(path))
    problems = [
        CheckpointProblem(
            MANIFEST, CUT_SHORT if _is_watched(path.parent) else f"{UNWATCHED}{'' if damage else NO_DAMAGE}"
        )
    ]
    verdict: IntegrityVerdict = "damaged" if damage else "unverifiable"
    return CheckpointIntegrity(path=str(path), step=_step_of(path), verdict=verdict, problems=(*problems, *damage))


def _is_watched(folder: Path) -> bool:
    """True if holdfast watched what was saved into a folder: another checkpoint there has its manifest."""
    return any(folder.glob(f"checkpoint-*/{MANIFEST}"))


def _compare(folder: Path, manifest: Manifest) -> Iterator[CheckpointProblem]:
    """Yield the differences; only files of the right size are hashed."""
    step, files = _step_of(folder), manifest.files
    if step is not None:
        if step != manifest.step:
            yield CheckpointProblem(MANIFEST, f"of another checkpoint, that of step {manifest.step}")
        yield from (
            CheckpointProblem(name, "not in the manifest")
            for name in _files(folder)
            if _is_state(name) and name not in files
        )
        yield from _lacking_weights(files)
    yield from filter(None, (_difference(folder, name, promised) for name, promised in files.items()))


def _difference(folder: Path, name: str, promised: PromisedFile) -> CheckpointProblem | None:
    """Return how a file differs from the manifest; None if it does not."""
    if not _is_inside(name):
        return CheckpointProblem(name, "not a file of this folder")
    if not is_file(folder / name):
        return CheckpointProblem(name, "missing")
    try:
        change = _change(folder / name, promised)
    except OSError as error:
        change = f"cannot be read: {error.strerror}"
    return CheckpointProblem(name, change) if change else None


def _change(path: Path, promised: PromisedFile) -> str:
    """Return how a file has changed since its checkpoint was saved; empty if it has not."""
    if (size := path.stat().st_size) != promised.bytes:
        return f"{'truncated' if size < promised.bytes else 'grown'}: {size} of {promised.bytes} bytes"
    return "changed: its sha256 is another" if _hash(path) != promised.sha256 else ""


def _is_inside(name: str) -> bool:
    """True if a relative path does not leave its folder."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _hash(path: Path) -> str:
    with open_foreign(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _is_state(name: str) -> bool:
    """True if training would continue from a file."""
    return PurePosixPath(name).suffix in (*WEIGHTS, SHARD) or PurePosixPath(name).name in RESUMABLE


def _lacking_weights(names: Iterable[str]) -> Iterator[CheckpointProblem]:
    """Yield a problem where none of the files holds weights; those of FSDP and DeepSpeed do."""
    if not any(map(_holds_weights, names)):
        yield CheckpointProblem("model.safetensors", "missing: the folder has no weights")


def _lacks_weights(folder: Path) -> bool:
    """True of a model or an adapter that was saved without weights, and has none in a folder within."""
    return any((folder / name).is_file() for name in CONFIGS) and not any(map(_holds_weights, _files(folder)))


def _holds_weights(name: str) -> bool:
    return _is_state(name) and not NO_WEIGHTS.fullmatch(PurePosixPath(name).name)


def _apparent_damage(folder: Path) -> Iterator[CheckpointProblem]:
    """Yield the damage that shows without knowing what was saved."""
    for path in sorted(folder.rglob("*")):
        if message := _file_damage(path):
            yield CheckpointProblem(path.relative_to(folder).as_posix(), message)
    yield from _absent_files(folder)


def _file_damage(path: Path) -> str:
    """Return a description of the damage of one file; empty if none shows."""
    if path.is_file() and not path.stat().st_size and path.name not in EMPTY:
        return "empty"
    if path.suffix == ".safetensors":
        return _weights_damage(path)
    if path.suffix in (".pt", ".pth", ".bin") and path.is_file() and _is_cut_archive(path):
        return "truncated: its list of contents, at the end, is not there"
    return ""


def _absent_files(folder: Path) -> Iterator[CheckpointProblem]:
    """Yield the files that such a folder must have and lacks."""
    is_checkpoint = _step_of(folder) is not None
    yield from (
        CheckpointProblem(name, f"missing: {INDEX} lists it") for name in _listed(folder) if not is_there(folder / name)
    )
    if is_checkpoint or _lacks_weights(folder):
        yield from _lacking_weights(_files(folder))
    if is_checkpoint and not (folder / STATE).exists():
        yield CheckpointProblem(STATE, "missing: training cannot resume")


def _is_cut_archive(path: Path) -> bool:
    """True if a file that `torch.save` began has no end; nothing is unpickled."""
    with open_foreign(path) as file:
        begins_as_archive = file.read(4) == ARCHIVE
    return begins_as_archive and not is_zipfile(path)


def _listed(folder: Path) -> list[str]:
    """Return the weight files that a model's index names; none if it has no index."""
    index = folder / INDEX
    text = ""
    with suppress(OSError):
        text = read_foreign_text(index, MANIFEST_BYTES)
    return sorted(model_of((), {INDEX: text}).shards) if text else []


def _weights_damage(path: Path) -> str:
    """Return a description of the damage of a safetensors file; empty if there is none."""
    try:
        read_tensor_header(path)
    except SourceError as damage:
        return damage.what.removeprefix(f"{path.name} ").removeprefix("is ")
    return ""
