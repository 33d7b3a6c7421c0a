"""Everything that a job can be diagnosed from: its logs, and what else is known about it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.core.diagnose.diagnosis import Signature
from holdfast.core.diagnose.log import Line
from holdfast.core.run.event import Refuser
from holdfast.engine.diagnose.declared import DeclaredTraining
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.results.diagnose import EarlierAttempt
from holdfast.results.refusal import RunRefusal

CHANGED: Final = "resume-settings-changed"
"""The class of a resume with other settings than the checkpoint's, of which transformers warns."""
OpenedLogs = list[tuple[str, Iterator[bytes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """Everything that a job can be diagnosed from. For a job that is not a run of holdfast's, most of it is missing.

    Attributes:
        files: Its logs: for a run, those of the newest attempt, and what the ledger knows, as another log.
        declared: The settings of its trainer; None if it never got so far.
        knows: Evidence from the ledger, the machine and the stacks.
        needs: What would show more of how it ended, if nothing else does.
        run: The name of the run; empty if its logs were named.
        refused_by: What refused it before its start; empty if nothing did.
        refused: The findings for which it was never started: each rule's code, with the message and its place.
        refusal: The same as `show` gives them, with their fixes.
        job: Its job file or script; empty if it no longer exists.
        text: The content of that file when the run began.
        versions: Releases of the libraries that it trained with, by package.
        running: The same name while it goes on under supervision; empty otherwise.
        standstill: Where its processes stood still, if the watch on progress ended its newest attempt, or which of several failed first; else empty.
        rank: The process that the failure of its newest attempt began in, of several; None if that is not known.
        namesake: The run that is called as the file or folder is that was read; empty if there is none.
        earlier: How its attempts before the newest one ended.
        changed: Whether a remedy changed settings before its newest attempt: that a checkpoint has others is no fault then.
    """

    files: OpenedLogs
    declared: DeclaredTraining | None = None
    knows: tuple[ClassEvidence, ...] = ()
    needs: tuple[str, ...] = ()
    run: str = ""
    refused_by: Refuser = ""
    refused: tuple[tuple[str, Line], ...] = ()
    refusal: tuple[RunRefusal, ...] = ()
    job: str = ""
    text: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    running: str = ""
    standstill: str = ""
    rank: int | None = None
    namesake: str = ""
    earlier: tuple[EarlierAttempt, ...] = ()
    changed: bool = False

    def possible(self, signatures: Iterable[Signature]) -> list[Signature]:
        """Return the classes that can be the cause."""
        return [each for each in signatures if not (self.changed and each.name == CHANGED)]
