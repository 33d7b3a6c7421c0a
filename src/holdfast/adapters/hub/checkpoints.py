"""Checkpoints in repositories of models, as transformers pushes them: `last-checkpoint`, or `checkpoint-N`.

Covered: the files of one commit, each compared with the digest that the Hub has of it. What an older checkpoint left in the same folder is
not taken over. Not covered: buckets, and repositories of data sets.

Source: `Trainer._push_from_checkpoint` of transformers 5.23, which uploads over the files of the checkpoint before.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePosixPath
from shutil import rmtree
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.hub import open_hub
from holdfast.adapters.hub.settings import read_settings
from holdfast.adapters.local.stored import read_stored
from holdfast.adapters.storage.checkpoints import MANIFEST_BYTES, step_in
from holdfast.core.check.hub import RepoTree, StoredFile
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.run.checkpoint import MANIFEST, Manifest, parse_manifest

STATE: Final = "trainer_state.json"
LAST: Final = "last-checkpoint"
"""Where transformers uploads the newest one, with `hub_strategy="checkpoint"`."""
NUMBERED: Final = re.compile(r"checkpoint-(\d+)")
ADDRESS: Final = re.compile(
    r"hf://(?:models/)?(?!(?:datasets|spaces|buckets)/)([^/@]+/[^/@]+)(?:@(refs/[^/]+/[^/]+|[^/]+))?(?:/(.+?))?/?"
)
FORM: Final = "write `hf://owner/name`, or `hf://owner/name@revision/checkpoint-500`"
AGAIN: Final = "run it again"


@dataclass(frozen=True, slots=True)
class HubCheckpoint:
    """An address of a checkpoint: the repository, its revision (None for the newest), the folder in it (empty for the newest checkpoint)."""

    repository: str
    revision: str | None
    folder: str


def parse_hub_checkpoint(address: str) -> HubCheckpoint:
    """Return the checkpoint that an address names.

    Raises:
        UsageError: It names none.

    >>> parse_hub_checkpoint("hf://me/model@main/checkpoint-500")
    HubCheckpoint(repository='me/model', revision='main', folder='checkpoint-500')
    """
    found = ADDRESS.fullmatch(address)
    if not found:
        raise UsageError("the address names no repository of a model", where=address, fix=FORM)
    return HubCheckpoint(found[1], found[2], found[3] or "")


def download_checkpoint(address: str, to: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder of a checkpoint that was downloaded: `checkpoint-N` in a new folder `to`.

    Raises:
        UsageError: There is no such checkpoint.
        SourceError: It cannot be downloaded, or did not arrive as it is there.
    """
    place = parse_hub_checkpoint(address)
    tree = open_hub(anew=True).repo_tree(
        Reference(role="model", name=place.repository, key="--resume-from", repo_kind="model", revision=place.revision)
    )
    if to.exists():
        rmtree(to)  # what a supervisor that was killed left of it
    name, stored = _select_newest(place, tree, to, address, environ)
    _download(place.repository, tree.commit, f"{name}/*", to, environ)
    folder = to / name
    _compare(folder, stored, address)
    _remove_unlisted(folder)
    numbered = to / f"checkpoint-{_step_of(folder, address)}"
    return folder if folder == numbered else folder.rename(numbered)


def _select_newest(
    place: HubCheckpoint, tree: RepoTree, to: Path, address: str, environ: Mapping[str, str]
) -> tuple[str, dict[str, StoredFile]]:
    """Return the folder of a checkpoint, as `_select`; `last-checkpoint`, if its state says that it is as new as the newest numbered one.

    Raises:
        UsageError: There is none.
        SourceError: The state cannot be downloaded.
    """
    name, stored = _select(place, tree, address)
    if not place.folder and name != LAST and _has_folder(tree, LAST):
        _download(place.repository, tree.commit, f"{LAST}/{STATE}", to, environ)
        if (step_in(to / LAST) or 0) >= _number(name):
            return _select(replace(place, folder=LAST), tree, address)
    return name, stored


def _has_folder(tree: RepoTree, folder: str) -> bool:
    return any(path.startswith(f"{folder}/") for path in tree.files or ())


def _select(place: HubCheckpoint, tree: RepoTree, address: str) -> tuple[str, dict[str, StoredFile]]:
    """Return the folder of a checkpoint in a repository, and its files by their names in it.

    Where none is named, the one of the highest number is preferred to `last-checkpoint`, whose name does not say its step.

    Raises:
        UsageError: There is none.
    """
    if tree.files is None:
        fix = "look at its name, its revision, and at the token"
        raise UsageError(f"the Hub has no model {place.repository} that you may see", where=address, fix=fix)
    has = _checkpoint_folders(tree.files)
    name = place.folder or next(iter(has), "")
    stored = {path.removeprefix(f"{name}/"): each for path, each in tree.files.items() if path.startswith(f"{name}/")}
    if not name or not stored:
        raise _no_checkpoint(place, has, address)
    return name, stored


def _checkpoint_folders(paths: Iterable[str]) -> list[str]:
    """Return the folders of checkpoints that files are in: the highest number first, `last-checkpoint` last."""
    folders = {str(PurePosixPath(path).parent) for path in paths}
    return sorted(filter(NUMBERED.fullmatch, folders), key=_number, reverse=True) + [LAST] * (LAST in folders)


def _no_checkpoint(place: HubCheckpoint, has: Sequence[str], address: str) -> UsageError:
    """Return the error that a repository has no such checkpoint, with those that it has."""
    what = f"{place.repository} has no {place.folder or 'checkpoint'}"
    offered = f"it has {', '.join(has[:3])}" if has else 'transformers pushes one with `hub_strategy: "checkpoint"`'
    return UsageError(what, where=address, fix=offered)


def _number(folder: str) -> int:
    found = NUMBERED.fullmatch(folder)
    return int(found[1]) if found else 0


def _download(repository: str, commit: str | None, pattern: str, to: Path, environ: Mapping[str, str]) -> None:
    """Download the files of one commit that fit a pattern.

    Raises:
        SourceError: It could not be.
    """
    settings = read_settings(environ)
    hub, errors = import_module("huggingface_hub"), import_module("huggingface_hub.errors")
    try:
        hub.snapshot_download(
            repository,
            revision=commit,
            allow_patterns=[pattern],
            local_dir=to,
            endpoint=settings.endpoint,
            token=settings.find_token(),
        )
    except (errors.HTTPError, OSError, ValueError, RuntimeError) as error:  # hf_xet raises RuntimeError
        because = " ".join(str(error).split())[:200]
        raise SourceError(f"the checkpoint could not be downloaded: {because}", where=repository, fix=AGAIN) from error


def _compare(folder: Path, stored: Mapping[str, StoredFile], address: str) -> None:
    """Check that the files are those of the repository.

    Raises:
        SourceError: One is missing, or another.
    """
    for name, theirs in stored.items():
        mine = read_stored(folder / name) if (folder / name).is_file() else None
        if mine is None or any(mine.digests[kind] != digest for kind, digest in theirs.digests.items()):
            what = f"{name} did not arrive as it is on the Hub, or has changed there meanwhile"
            raise SourceError(what, where=address, fix=AGAIN)


def _remove_unlisted(folder: Path) -> None:
    """Remove from a downloaded checkpoint what its manifest does not list: files of older ones, over which it was uploaded."""
    manifest = _manifest_of(folder)
    for path in _files(folder) if manifest else ():
        name = path.relative_to(folder).as_posix()
        if manifest and name != MANIFEST and name not in manifest.files:
            path.unlink()


def _manifest_of(folder: Path) -> Manifest | None:
    try:
        return parse_manifest(read_foreign_text(folder / MANIFEST, MANIFEST_BYTES))
    except (OSError, ValueError):
        return None


def _files(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.rglob("*") if path.is_file())


def _step_of(folder: Path, address: str) -> int:
    """Return the step of a checkpoint, by its trainer's state.

    Raises:
        UsageError: It has none.
    """
    step = step_in(folder)
    if step is None:
        what = "the folder is no checkpoint that training can resume from: it has no readable trainer_state.json"
        raise UsageError(what, where=address, fix=FORM)
    return step
