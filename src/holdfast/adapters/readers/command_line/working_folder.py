"""The folder in which a command of a shell's text runs, by the `cd`, `pushd` and `popd` before it.

Covered: `cd` up, down and back, the stack of `pushd` and `popd`, and subshells, which leave the folder as it was.
Not covered: folders that a shell computes: after one, it is as if the text had begun there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os.path import expanduser, normpath
from pathlib import Path
from typing import Final

from holdfast.adapters.readers.command_line.words import Word

GOES: Final = frozenset({"cd", "pushd", "popd"})
BACK: Final = "-"


def working_folder(before: Iterable[Sequence[Word]], subshells: tuple[int, ...]) -> Path:
    """Return where a command runs: a path from the folder in which its shell was started, or an absolute one.

    Args:
        before: The commands before it.
        subshells: Those that it stands in; what is done in another does not count.
    """
    folders = ShellFolders()
    for name, *words in before:
        if name.text in GOES and name.subshells == subshells[: len(name.subshells)]:
            target = next((word for word in words if word.text == BACK or not word.text.startswith("-")), None)
            folders.go(name.text, target)
    return folders.here


@dataclass(slots=True)
class ShellFolders:
    """The folders of a shell: where it is, where it was before, and those that `pushd` keeps."""

    here: Path = field(default_factory=Path)
    left: Path = field(default_factory=Path)
    stack: list[Path] = field(default_factory=list[Path])

    def go(self, command: str, target: Word | None) -> None:
        """Do what `cd`, `pushd` or `popd` does."""
        before = self.here
        if command == "popd" or (command == "pushd" and target is None):
            self.here = self.stack.pop() if self.stack else Path()
        else:
            self.here = self._target(target)
        if command == "pushd":
            self.stack.append(before)
        self.left = before

    def _target(self, target: Word | None) -> Path:
        """Return where one comes to from here; the home folder without a target."""
        if target and target.text == BACK:
            return self.left
        if target and not target.known:
            return Path()
        name = target.text if target else "~"
        return Path(normpath(self.here / expanduser(name)))  # noqa: PTH111 # `~nobody` stays as it is


def is_lost(before: Iterable[Sequence[Word]]) -> bool:
    """True if a shell goes to a folder that it computes, or that is not on this machine."""
    targets = (words for name, *words in before if name.text in GOES)
    return any(not word.known or not Path(word.text).is_dir() for words in targets for word in words)
