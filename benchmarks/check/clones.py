"""Files of a git clone as they were at a commit, laid out in a folder of their own as a user would have them.

Nothing of them is executed, and git checks nothing out: blobs are read by name.
"""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

DECLARING: Final = frozenset(
    {
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile",
        "environment.yml",
        "environment.yaml",
        "Dockerfile",
        ".python-version",
    }
)
"""Names of the files that say which versions a script gets, beside `requirements*.txt`."""


@dataclass(frozen=True, slots=True)
class Clone:
    """A git repository on this disk.

    Attributes:
        folder: Its git folder, or the folder that holds one.
    """

    folder: Path

    def tags(self) -> list[str]:
        """Return the names of its tags."""
        return self._git("tag").split()

    def paths(self, commit: str) -> list[PurePosixPath]:
        """Return the paths of all files at a commit."""
        listed = self._git("ls-tree", "-r", "-z", "--name-only", commit)
        return [PurePosixPath(path) for path in listed.split("\0") if path]

    def contents(self, commit: str, paths: Iterable[PurePosixPath]) -> dict[PurePosixPath, bytes]:
        """Return what the files of a commit hold; one that is not there is left out."""
        wanted = list(paths)
        told = subprocess.run(
            ["git", "-C", str(self.folder), "cat-file", "--batch"],
            input="".join(f"{commit}:{path}\n" for path in wanted).encode(),
            capture_output=True,
            check=True,
        ).stdout
        found, at = {}, 0
        for path in wanted:
            end = told.index(b"\n", at)
            words = told[at:end].split()
            at = end + 1
            if words[-1] != b"missing":
                size = int(words[-1])
                found[path] = told[at : at + size]
                at += size + 1
        return found

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.folder), *words], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "surrogateescape")


def around(paths: Iterable[PurePosixPath], scripts: Iterable[PurePosixPath]) -> set[PurePosixPath]:
    """Return what lies around scripts: Python files beside them, and what declares versions there or above."""
    beside = {script.parent for script in scripts}
    above = {folder for script in scripts for folder in script.parents}
    return {
        path
        for path in paths
        if (path.parent in beside and path.suffix == ".py") or (path.parent in above and _declares(path.name))
    }


def lay_out(contents: Mapping[PurePosixPath, bytes], root: Path) -> None:
    """Write files below a folder that looks like the root of a repository."""
    (root / ".git").mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        at = root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(content)


def _declares(name: str) -> bool:
    return name in DECLARING or (name.startswith("requirements") and name.endswith(".txt"))
