"""The output of attempts whose machine shares no files with this one: it is retrieved, the events with the log."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Protocol, TypeVar

from holdfast.core.errors import LogGoneError, UnreachableError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.checkpoint import MANIFEST, CheckpointIntegrity
from holdfast.core.run.event import Reported, ReportsLost
from holdfast.engine.run.listed_checkpoints import IN_CHECKPOINT, checkpoint_files, judge_listed
from holdfast.engine.run.telemetry import MOST_READINGS, CarriedEvent, LogNews, LostEvents, TelemetryReader
from holdfast.ports import LogPart, OutputNews, RemoteFile, Retrieval

QUIET: Final = 2
"""How often in a row the log of an attempt that has ended has to be read without news: then it is complete."""
QUIET_WITHOUT_END: Final = 4
"""The same while the last event of the training process is not there: the log may be late."""
WRITTEN_HERE: Final = re.compile(
    r"attempts/\d+/(attempt\.py|stdout\.log|events\.jsonl|guard\.json|pids/.*)|[^/]*\.(json|jsonl|yaml|lock)"
)
Listed = TypeVar("Listed")
LONGEST_NAME: Final = 255
"""Bytes that the name of a file or folder may have on Linux and macOS."""
FORBIDDEN: Final = re.compile(r"[\0\\\ud800-\udc7f\udd00-\udfff]")
"""NUL, the separator of Windows, and what has no bytes in the name of a file."""


class RunCopies(Protocol):
    """The run's folder on this machine, as the retrieved output needs it."""

    def write_log(self, attempt: int, position: int, text: bytes) -> None:
        """Write text into the log of an attempt; what the log has from this position on is replaced."""
        ...

    def files(self) -> Mapping[str, RemoteFile]:
        """Return each file by its path in the folder, with the version of which it is a copy."""
        ...

    def note_version(self, name: str, version: str) -> None:
        """Note that the file is a copy of this version."""
        ...

    def path(self, name: str) -> str:
        """Return the whole path of a file, whose folder exists from now on."""
        ...

    def read(self, name: str) -> str:
        """Return the text of a file."""
        ...


@dataclass(slots=True)
class _LogReading:
    """How far the log of one attempt was read.

    Attributes:
        quiet: How often in a row it was read without news since the attempt has ended.
        digests: Of the text of each reading, from start to end, since the attempt has ended.
    """

    reader: TelemetryReader
    quiet: int = 0
    digests: list[bytes] = field(default_factory=list[bytes])
    text: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def feed(self, part: LogPart) -> LogNews:
        """Return what is new in a part of the log."""
        news = self.reader.feed(part)
        if news.position == 0:
            self.text = hashlib.sha256()
        self.text.update(news.text)
        return news

    def is_complete(self, *, ended: bool, news: bool) -> bool:
        """True if nothing can follow. The log of an attempt that has ended is read until two readings agree: text has no numbers."""
        self.quiet = self.quiet + 1 if ended and not news and not self.reader.missing else 0
        if self.quiet < (QUIET if self.reader.ended else QUIET_WITHOUT_END):
            return False
        self.quiet, before = 0, self.digests[-1:]
        self.digests.append(self.text.digest())
        if self.digests[-1:] == before or len(self.digests) == MOST_READINGS:
            return True
        self.reader.start_again()
        return False


class RetrievedOutput:
    """Reads the log of each attempt, splits the events from it, and keeps the rest in the run's folder."""

    def __init__(self, retrieval: Retrieval, copies: RunCopies) -> None:
        self._retrieval, self._copies = retrieval, copies
        self._readings: dict[int, _LogReading] = {}

    def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:
        """Return the new events of the attempt's log. A log that ends is complete only if the attempt has ended."""
        reading = self._readings.setdefault(attempt.number, _LogReading(TelemetryReader(attempt.heard)))
        reader = reading.reader
        try:
            part = self._retrieval.read_log(attempt.id, reader.offset)
        except UnreachableError as error:
            # Of an attempt that is alive, the poll knows more.
            return OutputNews(complete=False, because=error.what if ended else "")
        except LogGoneError as error:
            if not ended or reader.ended or attempt.end:  # nothing is known to be missing
                return OutputNews(complete=ended)
            lost = ReportsLost(at_s=at_s, attempt=attempt.number, process="", first=1, last=0, because=error.what)
            return OutputNews(events=[lost])
        before = reader.offset
        news = reading.feed(part)
        self._copies.write_log(attempt.number, news.position, news.text)
        complete = reading.is_complete(ended=ended, news=reader.offset != before)
        if complete:
            rest = reader.finish(part)
            self._copies.write_log(attempt.number, rest.position, rest.text)
        return OutputNews(events=[_ledger_event(each, attempt.number, at_s) for each in news.events], complete=complete)

    def newest_checkpoint(
        self,
        attempt: AttemptState,
        saved: Collection[str],  # noqa: ARG002 - where it saved is not this machine's to look
        usable: Callable[[int], bool],
    ) -> tuple[str | None, Sequence[CheckpointIntegrity]]:
        """Return the newest whole checkpoint in the run's folder there; of checkpoints, only manifests are fetched."""
        passed_over: list[CheckpointIntegrity] = []
        for folder, files in checkpoint_files(self._listed(attempt)).items():
            if not usable(int(folder.rpartition("-")[2])):
                continue
            manifest = ""
            if MANIFEST in files:
                name = f"{folder}/{MANIFEST}"
                self._fetch_file(attempt.id, name, files[MANIFEST])
                manifest = self._copies.read(name)
            integrity = judge_listed(folder, files, manifest)
            if integrity.verdict == "whole":
                return self._copies.path(folder), passed_over
            passed_over.append(integrity)
        return None, passed_over

    def fetch(self, attempt: AttemptState) -> None:
        """Fetch what the run has there and not here, except the weights and optimizers of checkpoints."""
        there = self._listed(attempt)
        for name in wanted_files(there, self._copies.files()):
            self._fetch_file(attempt.id, name, there[name])

    def _fetch_file(self, attempt_id: str, name: str, file: RemoteFile) -> None:
        self._retrieval.fetch_file(attempt_id, name, self._copies.path(name))
        self._copies.note_version(name, file.version)

    def _listed(self, attempt: AttemptState) -> Mapping[str, RemoteFile]:
        return _inside_run(self._retrieval.list_files(attempt.id))


def _ledger_event(event: CarriedEvent | LostEvents, attempt: int, at_s: float) -> Reported | ReportsLost:
    if isinstance(event, LostEvents):
        because = "its log does not have them, however often it is read"
        return ReportsLost(
            at_s=at_s, attempt=attempt, process=event.process, first=event.first, last=event.last, because=because
        )
    return Reported(at_s=at_s, attempt=attempt, said=event.said, process=event.process, number=event.number)


def wanted_files(there: Mapping[str, RemoteFile], here: Mapping[str, RemoteFile]) -> Iterator[str]:
    """Yield the names of the files to fetch: those that were written since they were copied, too.

    >>> there = {name: RemoteFile(9, "new") for name in ("model/a.bin", "model/b.bin", "c/checkpoint-8/optimizer.pt")}
    >>> list(wanted_files(there, {"model/a.bin": RemoteFile(9, "new"), "model/b.bin": RemoteFile(9, "old")}))
    ['model/b.bin']
    """
    for name, file in sorted(there.items(), key=lambda named: named[0]):
        heavy = IN_CHECKPOINT.fullmatch(name) and PurePosixPath(name).name != MANIFEST
        if not heavy and not WRITTEN_HERE.fullmatch(name) and here.get(name) != file:
            yield name


def _inside_run(listed: Mapping[str, Listed]) -> Mapping[str, Listed]:
    r"""Return the files whose paths are plain paths in the run's folder.

    >>> _inside_run({"model/a.bin": 1, "../b": 2, "/c": 3, "d/../../e": 4, "f\\..\\g": 5, "./h": 6, "i//j": 7, "": 8})
    {'model/a.bin': 1}
    """
    return {name: file for name, file in listed.items() if _is_plain(name)}


def _is_plain(name: str) -> bool:
    """True of a relative path without detours: other spellings of a path would escape the rules about that path."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or path.as_posix() != name or FORBIDDEN.search(name):
        return False
    return all(len(part.encode(errors="surrogateescape")) <= LONGEST_NAME for part in path.parts)
