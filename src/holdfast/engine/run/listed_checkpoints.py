"""Checkpoints that are on another machine: whether one is whole, from the sizes of its files and its manifest.

Covered: what is missing, cut short, or not in the manifest's sizes. Not covered: changed bytes, since the files are not fetched.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from holdfast.core.run.checkpoint import (
    CUT_SHORT,
    MANIFEST,
    NO_MANIFEST,
    RESUMABLE,
    CheckpointIntegrity,
    CheckpointProblem,
    parse_manifest,
)
from holdfast.ports import RemoteFile

Listed = TypeVar("Listed")

IN_CHECKPOINT: Final = re.compile(r"((?:.+/)?checkpoint-(\d{1,18}))/(.+)")


def checkpoint_files(files: Mapping[str, Listed]) -> Mapping[str, Mapping[str, Listed]]:
    """Return the files of each checkpoint, newest checkpoint first.

    >>> checkpoint_files({"c/checkpoint-8/a.pt": 5, "c/checkpoint-16/a.pt": 5, "model/a.pt": 5})
    {'c/checkpoint-16': {'a.pt': 5}, 'c/checkpoint-8': {'a.pt': 5}}
    """
    found: dict[tuple[int, str], dict[str, Listed]] = {}
    for name, file in files.items():
        if inside := IN_CHECKPOINT.fullmatch(name):
            found.setdefault((int(inside[2]), inside[1]), {})[inside[3]] = file
    return {folder: found[step, folder] for step, folder in sorted(found, reverse=True)}


def judge_listed(folder: str, files: Mapping[str, RemoteFile], manifest: str) -> CheckpointIntegrity:
    """Return the integrity of a checkpoint.

    Args:
        folder: Its folder.
        files: Its files.
        manifest: The text of its manifest; empty if it has none.
    """
    problems = tuple(_problems(files, manifest))
    step = int(folder.rpartition("-")[2])
    return CheckpointIntegrity(path=folder, step=step, verdict="damaged" if problems else "whole", problems=problems)


def _problems(files: Mapping[str, RemoteFile], manifest: str) -> Iterator[CheckpointProblem]:
    if not manifest:
        yield CheckpointProblem(MANIFEST, CUT_SHORT)
        return
    try:
        promised = parse_manifest(manifest).files
    except ValueError:
        yield CheckpointProblem(MANIFEST, NO_MANIFEST)
        return
    for name in dict.fromkeys([*promised, *RESUMABLE]):
        file = files.get(name)
        if file is None:
            yield CheckpointProblem(name, "missing")
        elif name in promised and file.size != promised[name].bytes:
            yield CheckpointProblem(name, f"of another size: {file.size} of {promised[name].bytes} bytes")
