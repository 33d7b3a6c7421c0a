"""Everything that a job can be diagnosed from: its logs, and what else is known about it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.core.log import Line
from holdfast.engine.diagnose.declared import DeclaredTraining
from holdfast.engine.diagnose.silent import ClassEvidence

OpenedLogs = list[tuple[str, Iterator[bytes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """Everything that a job can be diagnosed from. For a job that is no run of holdfast's, most of it is missing.

    Attributes:
        files: Its logs: for a run, those of the newest attempt, and what the ledger knows, as another log.
        asked: The settings of its trainer; None if it never got so far.
        knows: Evidence from the ledger, the machine and the stacks.
        needs: What would show more of how it ended, if nothing else does.
        refused: The findings for which it was never started: each rule's code, with the message and its place.
        job: Its job file or script; empty if it no longer exists.
        text: The content of that file when the run began.
        versions: Releases of the libraries that it trained with, by package.
        running: The name of the run whose logs these are, while it goes on under supervision; empty otherwise.
    """

    files: OpenedLogs
    asked: DeclaredTraining | None = None
    knows: tuple[ClassEvidence, ...] = ()
    needs: tuple[str, ...] = ()
    refused: tuple[tuple[str, Line], ...] = ()
    job: str = ""
    text: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    running: str = ""
