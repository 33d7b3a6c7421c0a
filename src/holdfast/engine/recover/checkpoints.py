"""The checkpoints that a run may continue from: not those that lost weights were saved in, nor, after some remedies, those of before."""

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.core.run.event import Event, Remedied, Reported, Stopper, StopRequested
from holdfast.core.run.run_state import RunState, advance
from holdfast.core.run.training_event import CheckpointSaved


@dataclass(frozen=True, slots=True)
class UsableSteps:
    """The steps whose checkpoints can be continued from.

    Attributes:
        until: The last of those that were saved until then; None if all can.
        since: Those that were saved since.
    """

    until: int | None = None
    since: frozenset[int] = frozenset()

    def has(self, step: int) -> bool:
        """Whether the checkpoint of a step can be continued from."""
        return self.until is None or step <= self.until or step in self.since


def usable_steps(events: Iterable[Event]) -> UsableSteps:
    """Return the steps whose checkpoints can be continued from, by the events of a run in order."""
    usable, state = UsableSteps(), RunState()
    for event in events:
        state = advance(state, event)
        last = _last_usable(event, state)
        if last is not None:
            earlier = last if usable.until is None else min(last, usable.until)
            usable = UsableSteps(earlier, frozenset(step for step in usable.since if step <= last))
        elif usable.until is not None and isinstance(event, Reported):
            usable = UsableSteps(usable.until, usable.since | _saved_step(event, state))
    return usable


def _last_usable(event: Event, state: RunState) -> int | None:
    """Return the last step of which a checkpoint can be continued from after an event; None if it says nothing of that."""
    if isinstance(event, Remedied):
        return event.remedy.resumes_until
    if not isinstance(event, StopRequested) or state.current is None:
        return None
    spoilt = {Stopper.NAN: state.current.lost, Stopper.SPIKE: state.current.loss_range.spike}.get(event.by)
    return spoilt.after if spoilt else None


def _saved_step(event: Reported, state: RunState) -> frozenset[int]:
    """Return the step of a checkpoint that was saved, unless its weights are lost, or spoilt by a spike that ends the attempt."""
    saved = event.training_event
    spoilt = (each.lost or each.loss_range.has_spiked for each in state.attempts if each.number == event.attempt)
    return (
        frozenset({saved.step})
        if isinstance(saved, CheckpointSaved) and saved.step and not any(spoilt)
        else frozenset()
    )
