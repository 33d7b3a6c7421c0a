"""The folder in which a command of a shell's text runs, by the `cd`, `pushd` and `popd` before it.

Covered: `cd` up, down and back, the stack of `pushd` and `popd`, and subshells, which leave the folder as it was.
Not covered: folders that a shell computes: after one, it is as if the text had begun there.
"""

from collections.abc import Iterable, Sequence
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
    folder, left = Path(), Path()
    stack: list[Path] = []
    for name, *words in before:
        if name.text not in GOES or name.subshells != subshells[: len(name.subshells)]:
            continue
        target = next((word for word in words if word.text == BACK or not word.text.startswith("-")), None)
        if name.text == "popd":
            gone = stack.pop() if stack else Path()
        elif name.text == "pushd" and target is None:
            gone = stack.pop() if stack else Path()
            stack.append(folder)
        else:
            gone = left if target and target.text == BACK else _gone(folder, target)
            stack += [folder] if name.text == "pushd" else []
        folder, left = gone, folder
    return folder


def is_lost(before: Iterable[Sequence[Word]]) -> bool:
    """True if a shell goes to a folder that it computes, or that is not on this machine."""
    targets = (words for name, *words in before if name.text in GOES)
    return any(not word.known or not Path(word.text).is_dir() for words in targets for word in words)


def _gone(folder: Path, target: Word | None) -> Path:
    """Return where one comes to from a folder; the home folder without a target."""
    if target and not target.known:
        return Path()
    return Path(normpath(folder / expanduser(target.text if target else "~")))  # noqa: PTH111 # `~nobody` stays as it is
