"""What earlier commands have shown of a job, as the checklists tell it."""

from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote

from holdfast.engine.checklist.states import ItemState
from holdfast.engine.units import render_duration
from holdfast.results.check import ItemVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The rehearsal and the newest run of the same job: the same script, with the same settings.

    Attributes:
        rehearsed: Day and time at which a rehearsal of it passed; empty if none has.
        run: Name of its newest run; empty if it has none.
        stage: What became of that run.
        took_s: How long that run took, or has taken so far.
    """

    rehearsed: str = ""
    run: str = ""
    stage: str = ""
    took_s: float = 0.0


def judge_earlier(earlier: Earlier, target: str) -> Mapping[str, ItemState]:
    """Return the states of the checklists' items, by name, that an earlier run decides in place of the job itself."""
    return {"known-good": _known_good(earlier, target)} | _time(earlier)


def _known_good(earlier: Earlier, target: str) -> ItemState:
    if earlier.stage == "succeeded":
        return ItemState(ItemVerdict.PASS, f"the run {earlier.run} of it succeeded")
    if earlier.stage == "failed":
        return ItemState(
            ItemVerdict.UNKNOWN, f"the run {earlier.run} of it failed: `holdfast diagnose {earlier.run}` says why"
        )
    if earlier.rehearsed:
        return ItemState(ItemVerdict.PASS, f"`holdfast rehearse` of it passed on {earlier.rehearsed}")
    return ItemState(
        ItemVerdict.UNKNOWN, f"it has neither been rehearsed nor run as it is: `holdfast rehearse {quote(target)}`"
    )


def _time(earlier: Earlier) -> dict[str, ItemState]:
    if earlier.stage != "succeeded":
        return {}
    return {"time": ItemState(ItemVerdict.UNKNOWN, f"the run {earlier.run} took {render_duration(earlier.took_s)}")}
