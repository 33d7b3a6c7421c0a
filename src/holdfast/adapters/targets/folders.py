"""The files of a folder that are worth checking, the way git and the best linters would list them.

Covered: `.gitignore` files of the folder, of those under it, and of those above it up to the repository's own; a
project's own patterns; environments, caches and build outputs under their usual names; folders of runs, by their files. Folders behind links are not
entered, so that a loop of links ends nothing.
Not covered: git's `core.excludesFile` and `.git/info/exclude`.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec, RegexPattern

from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.targets import SHELL
from holdfast.core.errors import UsageError
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.text.nearest import SURE, nearest

LEFT_OUT: Final = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", "build", "dist", "site-packages"}
    | {".eggs", ".holdfast_cache", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox"}
)
"""Names of folders that hold nothing of the user's own."""
ENVIRONMENT: Final = "pyvenv.cfg"
"""What every virtual environment has, whatever its folder is called."""
RUN: Final = ("job.resolved.yaml", "ledger.jsonl")
"""What every folder of a run has, also of one that was refused: its files are copies of what was run."""

LIBRARIES: Final = "trl|transformers|peft|accelerate|datasets|huggingface_hub|trackio|bitsandbytes|unsloth"
# An import of a library, in Python or in a notebook's JSON, or a script header that asks for one. It may match too
# much, never too little: the reader then finds that there is nothing to check.
USES: Final = re.compile(
    rf"\b(?:from|import)\b[^\n#]*\b(?:{LIBRARIES})\b|^#[^\n]*[\"'](?:{LIBRARIES}|huggingface-hub)\b".encode(),
    re.MULTILINE,
)
# What a shell script starts a training by. It may match too much as well.
STARTS: Final = re.compile(
    rb"\.py\b|\b(?:trl|axolotl|llamafactory-cli|lmf|torchrun|accelerate|deepspeed)\b|\bpython\S*\s+(?:-\w+\s+)*-m\b"
)
TOP_KEYS: Final = re.compile(rb"""^["']?(\w+)["']?[ \t]*:""", re.MULTILINE)
OWN_JOB: Final = frozenset({b"method", b"model", b"dataset"})
JOBS: Final = (
    OWN_JOB,
    {b"compute_environment", b"distributed_type"},
    {b"base_model", b"datasets"},
    {b"base_model", b"pretraining_dataset"},
    {b"stage", b"model_name_or_path", b"output_dir"},
    {b"model_name_or_path", b"dataset_name"},
    {b"model_name_or_path", b"per_device_train_batch_size"},
)
"""Keys at the top of a job file: ours, axolotl's, LLaMA-Factory's, and a recipe of TRL's; and of accelerate's file."""

MB: Final = 1_000_000
# The longest file of transformers has 0.3 MB; what is ten times longer was generated. Notebooks carry their pictures.
MOST_BYTES: Final = {
    ".py": 3 * MB,
    ".yaml": 3 * MB,
    ".yml": 3 * MB,
    ".ipynb": 50 * MB,
    **dict.fromkeys(SHELL, 3 * MB),
}
MOST_FILES: Final = 50_000
"""No project has as many scripts; a home or a whole disk has, and would take minutes."""
LOOKED_AT: Final = 8_000
"""Bytes in which git looks for a zero to call a file binary; so do we."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """What could have been checked, but was not.

    Attributes:
        path: The file or folder.
        because: Why.
    """

    path: str
    because: str


INSIDE: Final = re.compile(r"/\*\*(?=/?\s*$)")
"""`a/**` speaks of what is inside of `a`, for git; pathspec 1.1 takes `a/` itself for a match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderContents:
    """What a folder holds.

    Attributes:
        files: Those worth checking, in the order of their paths.
        others: How many Python scripts and notebooks use none of the libraries.
        passed_over: What was too large, binary or unreadable.
    """

    files: tuple[str, ...]
    others: int
    passed_over: tuple[PassedOver, ...]


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns as in a `.gitignore`, and the folder that they speak of."""

    folder: str
    spec: GitIgnoreSpec

    def match(self, path: str, *, is_folder: bool) -> bool | None:
        """True if they leave a real path out; None if they say nothing of it.

        As for git, a pattern speaks of the file or folder that it names: what lies in a folder is never come upon where
        that is left out. pathspec's own verdict takes a pattern to speak of all that lies below, too.
        """
        root = self.folder.rstrip(os.sep) + os.sep
        if not path.startswith(root):
            return None
        relative = path[len(root) :].replace(os.sep, "/") + "/" * is_folder
        verdicts = [pattern.include for pattern in self.spec.patterns if _names(pattern, relative)]
        return verdicts[-1] if verdicts else None


def _names(pattern: RegexPattern, path: str) -> bool:
    """True if a pattern matches a path to its end, and not only a folder that it is in."""
    found = pattern.regex.match(path) if pattern.include is not None and pattern.regex else None
    return found is not None and found.end() == len(path)


@dataclass(frozen=True, slots=True)
class OtherUse:
    """A script that uses none of the libraries."""


def parse_patterns(lines: Iterable[str], folder: str) -> Patterns:
    """Return patterns as in a `.gitignore` of a folder."""
    return Patterns(os.path.realpath(folder), GitIgnoreSpec.from_lines(INSIDE.sub("/**/*", line) for line in lines))


def find_files(folder: str, exclude: Patterns | None = None) -> FolderContents:
    """Return the files in a folder that are worth checking.

    Args:
        folder: The folder; it is walked whatever patterns say of it.
        exclude: A project's own patterns.

    Raises:
        UsageError: The folder cannot be read, or holds too many files.
    """
    real = os.path.realpath(folder)
    seen = list(islice(_walk(folder, real, tuple(_ignores_above(Path(real))), exclude), MOST_FILES + 1))
    if seen and isinstance(seen[0], PassedOver) and seen[0].path == folder:
        raise UsageError(f"{folder} {seen[0].because}", where=folder, fix="check its permissions")
    if len(seen) > MOST_FILES:
        what = f"{folder} holds more than {MOST_FILES:,} scripts and notebooks"
        raise UsageError(
            what, where=folder, fix="name the folder of a project, or leave folders out: `exclude` in `[tool.holdfast]`"
        )
    return FolderContents(
        files=tuple(one for one in seen if isinstance(one, str)),
        others=sum(isinstance(one, OtherUse) for one in seen),
        passed_over=tuple(one for one in seen if isinstance(one, PassedOver)),
    )


def judge_named(path: str, exclude: Patterns | None = None) -> str | OtherUse | PassedOver | None:
    """Judge one file as if it had been found in a folder: the path if it is worth checking, None for what is not ours."""
    if exclude and _is_excluded(exclude, path):
        return None
    return _judge(path)


def _walk(
    folder: str, real: str, layers: tuple[Patterns, ...], exclude: Patterns | None
) -> Iterator[str | OtherUse | PassedOver]:
    """Yield the files in a folder, given its real path too, and the ignore patterns of the folders above it."""
    try:
        with os.scandir(real) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        yield PassedOver(folder, f"cannot be read: {error.strerror}")
        return
    if any(entry.name == ".gitignore" for entry in entries):
        layers = (*layers, _load_ignores(real))
    for entry in _wanted_entries(entries, layers, exclude):
        path = _path_in(folder, entry.name)
        inside = _walk(path, entry.path, layers, exclude) if _is_folder(entry) else [_judge(path)]
        yield from filter(None, inside)


def _path_in(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder.rstrip(os.sep)}{os.sep}{name}"


def _wanted_entries(
    entries: Iterable[os.DirEntry[str]], layers: Sequence[Patterns], exclude: Patterns | None
) -> Iterator[os.DirEntry[str]]:
    """Yield the folders to enter and the files to judge."""
    for entry in entries:
        if _is_wanted(entry) and not _is_ignored(entry.path, layers, exclude, is_folder=_is_folder(entry)):
            yield entry


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    if _is_folder(entry):
        return entry.name not in LEFT_OUT and not (_has(entry, ENVIRONMENT) or all(_has(entry, name) for name in RUN))
    return Path(entry.name).suffix in MOST_BYTES


def _has(folder: os.DirEntry[str], name: str) -> bool:
    try:
        return Path(folder.path, name).exists()
    except OSError:  # a folder that may be listed, and not entered
        return False


def _is_ignored(real: str, layers: Sequence[Patterns], exclude: Patterns | None, *, is_folder: bool) -> bool:
    """Whether a path is passed by: the project's patterns come first, then the nearest `.gitignore` that knows it."""
    if exclude and exclude.match(real, is_folder=is_folder):
        return True
    answers = (layer.match(real, is_folder=is_folder) for layer in reversed(layers))
    return next((answer for answer in answers if answer is not None), False)


def _is_excluded(exclude: Patterns, path: str) -> bool:
    """True if a project's patterns leave out a file, or a folder that it is in."""
    whole = Path(path).resolve()
    folders = [folder for folder in whole.parents if folder.is_relative_to(exclude.folder)][:-1]
    if LEFT_OUT & {folder.name for folder in folders}:
        return True
    return bool(exclude.match(str(whole), is_folder=False)) or any(
        exclude.match(str(folder), is_folder=True) for folder in folders
    )


def _judge(path: str) -> str | OtherUse | PassedOver | None:
    """Return the use of a file, after a quick look at its text."""
    suffix = Path(path).suffix
    try:
        if suffix not in MOST_BYTES or not Path(path).is_file():  # a pipe would never end
            return None
        size = Path(path).stat().st_size
        if size > MOST_BYTES[suffix]:
            return PassedOver(path, f"is too large: {size / MB:.0f} MB")
        content = read_foreign(Path(path), MOST_BYTES[suffix])
    except OSError as error:
        return PassedOver(path, f"cannot be read: {error.strerror}")
    return _use(path, suffix, content)


def _use(path: str, suffix: str, content: bytes) -> str | OtherUse | PassedOver | None:
    if target_kind(path) is TargetKind.JOB:
        return path if _is_job(content) else None
    if b"\0" in content[:LOOKED_AT]:
        return PassedOver(path, "is binary")
    pattern, otherwise = (STARTS, None) if suffix in SHELL else (USES, OtherUse())
    return path if pattern.search(content) else otherwise


def _is_job(content: bytes) -> bool:
    """True of the file of a job of ours or of another program's, also if a key is misspelt."""
    keys = set(TOP_KEYS.findall(content))
    return any(keys >= job for job in JOBS) or _is_misspelt_job(keys)


def _is_misspelt_job(keys: Collection[bytes]) -> bool:
    """True if one of the keys that every job file has is misspelt: `metod`, `Model`, `datset`.

    >>> _is_misspelt_job({b"metod", b"model", b"dataset"}), _is_misspelt_job({b"name", b"model", b"dataset"})
    (True, False)
    """
    missing = OWN_JOB.difference(keys)
    others = (key.decode(errors="replace").lower() for key in keys if key not in OWN_JOB)
    return len(missing) == 1 and any(nearest(other, (*map(bytes.decode, missing),), cutoff=SURE) for other in others)


def _ignores_above(folder: Path) -> Iterator[Patterns]:
    """Yield the patterns of the folders above one, up to the root of the repository it is in, outermost first."""
    parents = list(folder.parents)
    root = next((number for number, parent in enumerate(parents) if (parent / ".git").exists()), None)
    if root is None or (folder / ".git").exists():
        return
    for parent in reversed(parents[: root + 1]):
        if (parent / ".gitignore").is_file():
            yield _load_ignores(str(parent))


def _load_ignores(folder: str) -> Patterns:
    try:
        lines = read_foreign(Path(folder, ".gitignore")).decode(errors="replace").splitlines()
    except OSError:  # as good as none, as for git
        lines = []
    return parse_patterns(lines, folder)
