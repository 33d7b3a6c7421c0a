"""The faults of a rehearsal as text: what became of the training after each, what the log said, the cause that the diagnosis named, and what the run did."""

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Final

from click import style
from msgspec import UNSET, UnsetType

from holdfast.core.rehearse.rehearsed_fault import FaultStatus, LossAgreement, RehearsedFault

WIDTH: Final = 110
COLOURS: Final[dict[FaultStatus, str]] = {
    "recovers": "green",
    "resumes": "green",
    "stops": "yellow",
    "loses": "red",
    "fails": "red",
}
COUNTED: Final[dict[FaultStatus, str]] = {
    "recovers": "recovered",
    "resumes": "resumable",
    "stops": "stopped",
    "loses": "lost",
    "fails": "failed",
    "skipped": "skipped",
}
ENDS: Final[dict[LossAgreement, str]] = {
    "same": "with the losses of the undisturbed training, bit for bit",
    "rounded": "with the losses of the undisturbed training, but for rounding",
    "differs": "with other losses",
    "not_compared": "well; no loss was compared",
}
SAME: Final = "with the losses and weights of the undisturbed training, bit for bit"
NO_OTHER: Final = "no other attempt: "


def render_faults(faults: Sequence[RehearsedFault] | UnsetType) -> Iterator[str]:
    """Yield the lines of the faults that were injected; none if none was requested."""
    if faults is UNSET:
        return
    yield ""
    yield style("faults", bold=True)
    if not faults:
        yield "  skipped: the rehearsal failed"
        return
    wide = max(len(each.name) for each in faults)
    for each in faults:
        yield from _fault(each, wide)
    counted = Counter(each.status for each in faults)
    yield "  " + ", ".join(f"{count} {COUNTED[status]}" for status, count in counted.items()) + _diagnosed(faults)


def _diagnosed(faults: Sequence[RehearsedFault]) -> str:
    struck = [each for each in faults if each.status != "skipped"]
    right = sum(each.is_cause is True for each in struck)
    return f"; {right} of {len(struck)} diagnosed correctly" if struck else ""


def _fault(fault: RehearsedFault, wide: int) -> Iterator[str]:
    if fault.status == "skipped":
        yield f"  {fault.name:<{wide}}  {style(f'skipped: {fault.because}', dim=True)}"
        return
    yield f"  {fault.name:<{wide}}  {style(f'{fault.status:<8}', fg=COLOURS[fault.status])}  step {fault.step} of {fault.steps}"
    if fault.said or not fault.where:
        yield _paragraph("log", fault.said or "nothing")
    yield _paragraph("cause", _cause(fault))
    yield _paragraph("run", "; ".join(_what_follows(fault)))
    if fault.status == "stops" and fault.because:
        yield _paragraph("fix", fault.because)


def _cause(fault: RehearsedFault) -> str:
    """Return the cause that the diagnosis names, and whether it is right."""
    if fault.diagnosis is None:
        return style("none found", fg="yellow")
    named = f"{fault.diagnosis}: {fault.where}" if fault.where else fault.diagnosis
    return named if fault.is_cause else style(f"{named}, which is not what was injected", fg="yellow")


def _what_follows(fault: RehearsedFault) -> Iterator[str]:
    """Yield what the run does, and how that ends."""
    yield from _ending(fault)
    yield from (f"ignores {each}" for each in fault.passed_over)
    yield from _continues(fault)
    if fault.played:
        yield f"ends {SAME if fault.same_weights and fault.loss == 'same' else ENDS[fault.loss]}"
    yield from fault.differs
    if fault.because and fault.status in ("loses", "fails"):
        yield style(fault.because, fg="red")


def _ending(fault: RehearsedFault) -> Iterator[str]:
    """Yield that the run stops, or that it finishes all the same."""
    if fault.action == "stops":
        yield "stops: " + (fault.verdict or "").rpartition(NO_OTHER)[2].removeprefix("stopped by ")
    if fault.action == "finishes":
        yield "does not notice"


def _continues(fault: RehearsedFault) -> Iterator[str]:
    """Yield what it continues from, or can be continued from."""
    place = f"from {fault.resume_from}" if fault.resume_from else "from the beginning"
    if fault.action == "continues":
        yield f"continues {place}"
    elif fault.action == "changes":
        yield f"continues {place} with {', '.join(_changes(fault))}"
    elif fault.lost_steps is not None:
        yield f"`holdfast resume` continues {place}"
    elif fault.resume_from:
        yield f"{fault.resume_from} is complete: resume from it once the cause is gone"


def _changes(fault: RehearsedFault) -> Iterator[str]:
    yield from map(str, fault.changes)
    if fault.skips:
        first, last = fault.skips
        yield "the batches of " + (f"step {first}" if first == last else f"steps {first} to {last}") + " left out"


def _paragraph(label: str, text: str) -> str:
    return fill(
        f"{label:<5} {text}", WIDTH, initial_indent="    ", subsequent_indent="          ", break_on_hyphens=False
    )
