"""The checkpoints that a run may continue from: after some remedies, not those of before."""

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.core.event import Event, Remedied, Reported
from holdfast.core.training_event import CheckpointSaved


@dataclass(frozen=True, slots=True)
class UsableSteps:
    """The steps whose checkpoints can be continued from.

    Attributes:
        until: The last of those of before a remedy; None if all can.
        since: Those that were saved after it.
    """

    until: int | None = None
    since: frozenset[int] = frozenset()

    def has(self, step: int) -> bool:
        """Whether the checkpoint of a step can be continued from."""
        return self.until is None or step <= self.until or step in self.since


ALL_STEPS = UsableSteps()


def usable_steps(events: Iterable[Event]) -> UsableSteps:
    """Return the steps whose checkpoints can be continued from, by the remedies and the saves of a run in order."""
    usable = ALL_STEPS
    for event in events:
        if isinstance(event, Remedied) and event.remedy.resumes_until is not None:
            until = event.remedy.resumes_until
            kept = frozenset(step for step in usable.since if step <= until)
            usable = UsableSteps(until if usable.until is None else min(until, usable.until), kept)
        elif usable.until is not None and isinstance(event, Reported):
            saved = event.training_event
            if isinstance(saved, CheckpointSaved) and saved.step is not None:
                usable = UsableSteps(usable.until, usable.since | {saved.step})
    return usable
