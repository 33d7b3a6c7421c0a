"""What a job has left to be diagnosed by: its logs, and what is known beside them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.core.log import Line
from holdfast.engine.diagnose.declared import DeclaredTraining
from holdfast.engine.diagnose.silent import ClassEvidence

OpenedLogs = list[tuple[str, Iterator[bytes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """What there is of a job. Of one that the ledger does not know most of it is missing.

    Attributes:
        files: Its logs, of a run those of the newest attempt, and what the ledger knows as a log of its own.
        asked: What its trainer was told to do; None where it never came so far.
        knows: What the ledger, the machine and stacks speak for.
        needs: What would tell more of how it ended, where nothing else does.
        refused: The findings for which it was never started, each a rule's code with what it said where.
        job: The file that says what it trains, its job file or its script; empty where nothing is left of it.
        text: What that file held when the run began.
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
