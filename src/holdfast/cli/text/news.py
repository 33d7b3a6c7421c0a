"""One line for each event of a run that people want to hear about."""

from collections.abc import Sequence

from rich.text import Text

from holdfast.catalog.metrics import OF_ANSWERS
from holdfast.core.run.event import (
    Diagnosed,
    Event,
    Liveness,
    Polled,
    Remedied,
    Reported,
    ReportsLost,
    Started,
    Starting,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.training_event import (
    BestLoaded,
    CheckpointSaved,
    Evaluated,
    Measurement,
    ModelSaved,
    PushStarted,
    Resumed,
    StepDone,
    TrainingEvent,
    TrainingStarted,
)
from holdfast.engine.report.tables import last_name
from holdfast.engine.run.progress import Progress
from holdfast.engine.run.resuming import describe_resumption
from holdfast.engine.run.summary import SPOKEN
from holdfast.engine.units import render_bytes, render_count, render_counted, render_duration, render_number


def render_news(event: Event, progress: Progress, now_s: float) -> Text | None:
    """Return the line for an event; None if the event is not news.

    Args:
        event: What happened.
        progress: The run after it.
        now_s: Unix time.
    """
    match event:
        case Reported():
            return _render_report(event.training_event, progress, now_s)
        case Polled():
            return _render_poll(event)
        case Starting() | Started():
            return _render_start(event)
        case ReportsLost() | Diagnosed() | Remedied() | TroubleNoted() | StopRequested():
            return Text(_describe_trouble(event, progress), "yellow")
        case _:
            return None


def _render_start(event: Starting | Started) -> Text:
    if isinstance(event, Started):
        return Text("loading libraries, data and model", "dim")
    resumed = f", from {last_name(event.resume_from)}" if event.resume_from else ""
    begins = ", from the beginning" if event.passed_over and not event.resume_from else ""
    first = f"attempt {event.attempt} on {event.backend}{resumed}{begins}"
    return Text("\n".join([first, *map("cannot resume from {}".format, event.passed_over)]), "bold")


def _describe_trouble(
    event: ReportsLost | Diagnosed | Remedied | TroubleNoted | StopRequested, progress: Progress
) -> str:
    """Return why an attempt failed and what follows, or what is changed for that; what is conspicuous; who wants it to stop."""
    if isinstance(event, ReportsLost):
        return _describe_loss(event)
    if isinstance(event, StopRequested):
        return _describe_stop(event, progress)
    if isinstance(event, TroubleNoted):
        return f"look at this: {event.trouble.text}"
    if isinstance(event, Remedied):
        return f"changed: {event.remedy.describe() or 'nothing'}, because {event.remedy.because}"
    return _describe_failure(event)


def _describe_stop(event: StopRequested, progress: Progress) -> str:
    because = f", because {event.because}" if event.because else ""
    return f"stop requested by {event.by}{because}: {_what_follows(event, progress)}"


def _what_follows(event: StopRequested, progress: Progress) -> str:
    """Return how an attempt ends that is asked to stop."""
    if event.kills:
        return "killed at once, without a checkpoint"
    if not progress.step:
        return "ends; there is no step to save yet"
    if event.by is Stopper.STALL:
        return "saves a checkpoint and ends if it can, and is killed if it cannot"
    return "saves a checkpoint, then ends"


def _describe_loss(event: ReportsLost) -> str:
    if event.count == 1:
        return f"1 event of the training process was lost: {event.because}"
    lost = f"{event.count} events" if event.count > 1 else "Events"
    return f"{lost} of the training process were lost: {event.because}"


def _describe_failure(event: Diagnosed) -> str:
    follows = f"; the next attempt begins in {render_duration(event.next_s)}" if event.next_s else ""
    stops = f"; no other attempt: {event.stops}" if event.stops else ""
    return f"attempt {event.attempt} failed: {event.cause}{follows or stops}"


def _render_poll(event: Polled) -> Text | None:
    match event.answer:
        case Liveness.ALIVE if event.phase:
            return Text(event.phase, "dim")
        case Liveness.UNKNOWN if event.because:
            return Text(f"state unknown for now: {event.because}", "yellow")
        case _:
            return None


def render_standing(progress: Progress) -> Text | None:
    """Return the line for someone who starts to watch a run, or who continues one; None if no step is done yet."""
    if not progress.step:
        return None
    at = f"step {_count(progress).strip()}"
    return Text(f"{progress.phase} before, at {at}" if progress.state.stage.ended else f"{progress.phase}: {at}")


def _render_report(event: TrainingEvent, progress: Progress, now_s: float) -> Text | None:
    match event:
        case TrainingStarted():
            return _line([_describe_training(event, progress)], "bold")
        case Resumed() if said := describe_resumption(event):
            return _line([said], "yellow")
        case StepDone() if figures := _figures(event):
            return _line([f"step {_count(progress)}", *figures, *_pace(progress, now_s)])
        case Evaluated():
            return _line([f"evaluation at step {event.step or 0}", *_figures(event)], "magenta")
        case _:
            return _render_saved(event)


def _line(words: Sequence[str], style: str = "") -> Text:
    return Text("  ".join(words), style)


def _render_saved(event: TrainingEvent) -> Text | None:
    """Return the line for a checkpoint or a model that is saved, chosen or pushed; None for any other event."""
    match event:
        case CheckpointSaved():
            return _line([f"saved {_last_name(event.path)}", *_bytes(event.bytes)], "green")
        case ModelSaved():
            return _line([f"saved a model in {_last_name(event.path)}", *_bytes(event.bytes)], "green")
        case BestLoaded():
            return _line([_describe_best(event)], "green")
        case PushStarted():
            return _line(["pushing to the Hub", *_repository(event)], "green")
        case _:
            return None


def _repository(event: PushStarted) -> list[str]:
    return [f"as {event.repository}"] if event.repository else []


def _describe_training(event: TrainingStarted, progress: Progress) -> str:
    steps = render_counted(progress.max_steps, "step") if progress.max_steps else "? steps"
    return f"training{_size(event)}, {steps}"


def _last_name(path: str | None) -> str:
    return last_name(path or "")


def _describe_best(event: BestLoaded) -> str:
    value = "" if event.value is None else f" {render_number(event.value)}"
    return f"the model is that of {last_name(event.checkpoint)}, the best by {event.metric}{value}"


def _bytes(count: int | None) -> list[str]:
    return [render_bytes(count)] if count else []


def _count(progress: Progress) -> str:
    whole = str(progress.max_steps or "?")
    return f"{progress.step:>{len(whole)}}/{whole}"


def _figures(event: Measurement) -> list[str]:
    values = dict(event.figures())
    answers = (f"eval_{name}" for name in OF_ANSWERS)
    names = ("loss", "grad_norm", "learning_rate", *(name for name in SPOKEN if name != "loss"), *answers)
    broken = [f"{name} is not finite" for name in event.nan]
    return [f"{name} {render_number(values[name])}" for name in names if name in values] + broken


def _pace(progress: Progress, now_s: float) -> list[str]:
    left_s, tokens_per_s = progress.left_s(now_s), progress.tokens_per_s
    speed = [f"{render_count(tokens_per_s)} tokens/s"] if tokens_per_s else []
    return [*speed, f"{render_duration(left_s)} left"] if left_s is not None else speed


def _size(event: TrainingStarted) -> str:
    """Return the numbers of trained parameters and of all; empty if the trainer did not report them."""
    whole = event.parameters
    trained = event.trainable or whole
    of = f" of {render_count(whole)}" if trained < whole else ""
    return f" {render_count(trained)}{of} parameters" if whole else ""
