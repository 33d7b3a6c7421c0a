"""One line for each event of a run that people care to hear of."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from holdfast.core.event import Event, Liveness, Polled, Reported, Started, Starting, StopRequested
from holdfast.engine.report.tables import last_name
from holdfast.engine.run.progress import Progress, measured
from holdfast.engine.run.summary import SPOKEN
from holdfast.engine.units import render_bytes, render_count, render_duration, render_number


def render_news(event: Event, progress: Progress, now_s: float) -> Text | None:
    """Return the line for an event, or None where there is nothing new to say.

    Args:
        event: What happened.
        progress: The run after it.
        now_s: Unix time.
    """
    match event:
        case Reported(said=said):
            return _render_report(said, progress, now_s)
        case Starting():
            resumed = f", from {last_name(event.resume_from)}" if event.resume_from else ""
            begins = ", from the beginning" if event.passed_over and not event.resume_from else ""
            lines = [
                f"attempt {event.attempt} on {event.backend}{resumed}{begins}",
                *map("cannot resume from {}".format, event.passed_over),
            ]
            text, style = "\n".join(lines), "bold"
        case Started():
            text, style = "loading libraries, data and model", "dim"
        case Polled(answer=Liveness.UNKNOWN) if event.because:
            text, style = f"cannot be asked just now: {event.because}", "yellow"
        case StopRequested():
            text, style = f"asked by {event.by} to save and end", "yellow"
        case _:
            return None
    return Text(text, style)


def render_standing(progress: Progress) -> Text | None:
    """Return the line for whoever comes to a run that is under way; None where nothing was trained yet."""
    return Text(f"{progress.phase}: step {_count(progress)}") if progress.step else None


def _render_report(report: Mapping[str, Any], progress: Progress, now_s: float) -> Text | None:
    match report.get("event"):
        case "start":
            words, style = [f"training{_size(report)}, {progress.max_steps or '?'} steps"], "bold"
        case "step" if _figures(report):
            words, style = [f"step {_count(progress)}", *_figures(report), *_pace(progress, now_s)], ""
        case "evaluate":
            words, style = [f"evaluation at step {report.get('step', 0)}", *_figures(report)], "magenta"
        case "checkpoint":
            size = f"  {render_bytes(report['bytes'])}" if report.get("bytes") else ""
            words, style = [f"saved {last_name(str(report.get('path', '')))}{size}"], "green"
        case "push":
            words, style = (
                ["pushing to the Hub", *([f"as {report['repository']}"] if report.get("repository") else [])],
                "green",
            )
        case _:
            return None
    return Text("  ".join(words), style)


def _count(progress: Progress) -> str:
    whole = str(progress.max_steps or "?")
    return f"{progress.step:>{len(whole)}}/{whole}"


def _figures(report: Mapping[str, Any]) -> list[str]:
    values = dict(measured(report))
    names = ("loss", "grad_norm", "learning_rate", *(name for name in SPOKEN if name != "loss"))
    broken = [f"{name} is not finite" for name in report.get("nan", ())]
    return [f"{name} {render_number(values[name])}" for name in names if name in values] + broken


def _pace(progress: Progress, now_s: float) -> list[str]:
    left_s, tokens_per_s = progress.left_s(now_s), progress.tokens_per_s
    speed = [f"{render_count(tokens_per_s)} tokens/s"] if tokens_per_s else []
    return [*speed, f"{render_duration(left_s)} left"] if left_s is not None else speed


def _size(report: Mapping[str, Any]) -> str:
    """Return the number of trained parameters, and of all; empty where the trainer did not report it."""
    whole = report.get("parameters") or 0
    trained = report.get("trainable") or whole
    of = f" of {render_count(whole)}" if trained < whole else ""
    return f" {render_count(trained)}{of} parameters" if whole else ""
