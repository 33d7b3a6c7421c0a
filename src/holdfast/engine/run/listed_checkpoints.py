"""Checkpoints that are on another machine: whether one is whole, from the sizes of its files and its manifest.

Covered: what is missing, cut short, or not in the manifest's sizes. Not covered: changed bytes, since the files are not fetched.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from holdfast.core.checkpoint import CheckpointIntegrity, CheckpointProblem
from holdfast.core.json_text import parse_json

MANIFEST: Final = "holdfast-manifest.json"
IN_CHECKPOINT: Final = re.compile(r"((?:.+/)?checkpoint-(\d{1,18}))/(.+)")
NEEDED: Final = ("trainer_state.json", "optimizer.pt", "scheduler.pt")
"""Files without which training cannot resume as it was."""
CUT_SHORT: Final = "missing: the save was cut short, since holdfast writes the manifest last"


def checkpoint_files(files: Mapping[str, int]) -> Mapping[str, Mapping[str, int]]:
    """Return the files of each checkpoint, newest checkpoint first, with their sizes.

    >>> checkpoint_files({"c/checkpoint-8/a.pt": 5, "c/checkpoint-16/a.pt": 5, "model/a.pt": 5})
    {'c/checkpoint-16': {'a.pt': 5}, 'c/checkpoint-8': {'a.pt': 5}}
    """
    found: dict[tuple[int, str], dict[str, int]] = {}
    for name, size in files.items():
        if inside := IN_CHECKPOINT.fullmatch(name):
            found.setdefault((int(inside[2]), inside[1]), {})[inside[3]] = size
    return {folder: found[step, folder] for step, folder in sorted(found, reverse=True)}


def judge_listed(folder: str, files: Mapping[str, int], manifest: str) -> CheckpointIntegrity:
    """Return the integrity of a checkpoint.

    Args:
        folder: Its folder.
        files: The size of each of its files.
        manifest: The text of its manifest; empty if it has none.
    """
    problems = tuple(_problems(files, manifest))
    step = int(folder.rpartition("-")[2])
    return CheckpointIntegrity(path=folder, step=step, verdict="damaged" if problems else "whole", problems=problems)


def _problems(files: Mapping[str, int], manifest: str) -> Iterator[CheckpointProblem]:
    if not manifest:
        yield CheckpointProblem(MANIFEST, CUT_SHORT)
        return
    promised: Mapping[str, Any] | None = None
    with suppress(ValueError, KeyError, TypeError):
        promised = {str(name): int(each["bytes"]) for name, each in parse_json(manifest)["files"].items()}
    if promised is None:
        yield CheckpointProblem(MANIFEST, "unreadable: it is no manifest of holdfast")
        return
    for name in dict.fromkeys([*promised, *NEEDED]):
        size = files.get(name)
        if size is None:
            yield CheckpointProblem(name, "missing")
        elif size != promised.get(name, size):
            yield CheckpointProblem(name, f"of another size: {size} of {promised[name]} bytes")
