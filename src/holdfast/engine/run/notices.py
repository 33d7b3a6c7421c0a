"""Which events of a run are sent as notices, and in what words."""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from holdfast.core.run.event import (
    Closed,
    Diagnosed,
    Event,
    Remedied,
    Starting,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.notice import NoticeKind, RunNotice
from holdfast.core.run.run_state import RunState


def notices_of(events: Iterable[Event], state: RunState) -> Iterator[RunNotice]:
    """Yield the messages about some events, given the state after them."""
    for event in events:
        if notice := _notice_of(event):
            kind, text = notice
            yield RunNotice(
                kind=kind,
                run=PurePath(state.folder).name,
                job=state.about.job,
                stage=state.stage.value,
                text=text,
                step=max((attempt.steps for attempt in state.attempts), default=0),
                at_s=event.at_s,
            )


def _notice_of(event: Event) -> tuple[NoticeKind, str] | None:
    match event:
        case Starting():
            return _start_notice(event)
        case TroubleNoted():
            return "trouble", event.trouble.text
        case StopRequested() if event.by is not Stopper.PERSON:
            return "stopping", _with_reason(f"{event.by} asked it to stop", event.because)
        case Closed():
            return "ended", _with_reason(event.stage.value, event.because)
        case _:
            return _failure_notice(event)


def _start_notice(event: Starting) -> tuple[NoticeKind, str]:
    checkpoint = f", from {PurePath(event.resume_from).name}" if event.resume_from else ""
    return (
        "resumed" if event.attempt > 1 else "started",
        f"attempt {event.attempt} begins on {event.backend}{checkpoint}",
    )


def _with_reason(what: str, because: str) -> str:
    return f"{what}: {because}" if because else what


def _failure_notice(event: Event) -> tuple[NoticeKind, str] | None:
    match event:
        case Diagnosed():
            stops = f"; no other attempt: {event.stops}" if event.stops else ""
            where = f"; {event.where}" if event.where else ""
            return "failed", f"attempt {event.attempt} failed: {event.cause}{where}{stops}"
        case Remedied():
            return "changed", f"{event.remedy.describe() or 'nothing is changed'}, because {event.remedy.because}"
        case _:
            return None
