"""The output of attempts that write into the run's folder themselves: on this machine, or on one that shares its files."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from holdfast.adapters.storage.checkpoints import newest_whole
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.checkpoint import CheckpointIntegrity
from holdfast.core.run.event import Reported
from holdfast.core.run.training_event import event_of_line
from holdfast.ports import OutputNews


class SharedOutput:
    """Reads the events of attempts from `events.jsonl`; each call continues where the last one ended.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tails: dict[int, _EventsTail] = {}

    def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:  # noqa: ARG002 - a file has no end of its own
        """Return the events after those that the attempt's state has."""
        path = self._folder / "attempts" / str(attempt.number) / "events.jsonl"
        try:
            said = self._tails.setdefault(attempt.number, _EventsTail(path)).after(attempt.reports)
        except OSError as error:
            return OutputNews(because=f"{error.filename}: {error.strerror}")
        return OutputNews(events=[Reported(at_s=at_s, attempt=attempt.number, said=each) for each in said])

    def newest_checkpoint(
        self,
        attempt: AttemptState,  # noqa: ARG002 - the folder has those of all attempts
        saved: Collection[str],
        usable: Callable[[int], bool],
    ) -> tuple[str | None, Sequence[CheckpointIntegrity]]:
        """Return the newest complete checkpoint of all folders in which the run saved one, and the newer ones that are damaged."""
        folders = {*saved, *map(str, self._folder.glob("checkpoints/*"))}
        found = [newest_whole(Path(folder), usable) for folder in sorted(folders)]
        newest = max((str(path) for path, _ in found if path), key=_step, default=None)
        damaged = [each for _, passed_over in found for each in passed_over]
        return newest, [each for each in damaged if newest is None or _step(each.path) > _step(newest)]

    def fetch(self, attempt: AttemptState) -> None:
        """Do nothing: the files are here."""


class _EventsTail:
    """The part of `events.jsonl` that was not read yet."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset, self._count = path, 0, 0

    def after(self, skip: int) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        if skip < self._count:
            self._offset, self._count = 0, 0  # earlier events are wanted again
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole, _, _ = file.read().rpartition(b"\n")  # a line still being written has no end yet
        lines = whole.split(b"\n") if whole else []
        first, self._count = self._count, self._count + len(lines)
        self._offset += len(whole) + 1 if lines else 0
        return [event_of_line(line) for line in lines[max(0, skip - first) :]]


def _step(checkpoint: str) -> int:
    return int(checkpoint.rpartition("-")[2])
