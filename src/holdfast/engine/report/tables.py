"""What a report tells in figures and rows: how far, how fast, each attempt, each checkpoint, each evaluation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Event, Liveness, Polled, RunStage, training_events
from holdfast.core.run.remedy import AppliedRemedy
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import CheckpointSaved, TrainingStarted
from holdfast.core.run.trouble import Trouble
from holdfast.core.run.usage import MachineUsage
from holdfast.engine.report.chart import evenly
from holdfast.engine.report.curves import Curve
from holdfast.engine.run.progress import Progress
from holdfast.engine.run.resuming import describe_resumption
from holdfast.engine.run.summary import find_change
from holdfast.engine.run.verdict import how_it_failed
from holdfast.engine.units import render_bytes, render_count, render_duration, render_number

EVALUATIONS = 50  # rows; the chart shows what lies between
# How long an evaluation took, not what it gave.
HIDDEN_METRICS = ("_runtime", "_per_second", "_preparation_time", "_num_tokens")
"""Ends of names of what is logged with an evaluation and says nothing of it. TRL's `eval_num_tokens` counts training tokens since the
trainer was made, so that it begins anew where a run resumes (trl 1.16, `SFTTrainer.compute_loss`)."""

Table = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]  # header, rows


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that matters, with its name and what it stands beside."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """How one attempt went."""

    number: int
    backend: str
    stage: str
    steps: str
    resumed: str
    passed_over: tuple[str, ...]
    took: str
    exit_code: int | None
    because: str
    remedy: AppliedRemedy | None
    troubles: tuple[Trouble, ...]
    where: str
    settings: str


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A checkpoint that is still there, and what is known of it."""

    name: str
    folder: str
    size: str
    verdict: str


def list_figures(progress: Progress, start: TrainingStarted, now_s: float) -> Iterator[Figure]:
    """Yield the numbers that stand at the top, as far as they are known; `start` is what training began with."""
    if change := find_change(progress):
        before = render_number(change.before.value)
        yield Figure(change.spoken, render_number(change.after.value), f"{before} at step {change.before.step}")
    if progress.max_steps:
        yield Figure("steps", str(progress.step), f"of {progress.max_steps}{_epochs(progress.epoch)}")
    attempts = len(progress.state.attempts)
    yield Figure("time", render_duration(progress.elapsed_s(now_s)), f"{attempts} attempts" if attempts > 1 else "")
    if progress.tokens_per_s and progress.steps_per_s:
        speed = f"{render_number(progress.steps_per_s)} steps a second"
        yield Figure("tokens a second", render_count(progress.tokens_per_s), speed)
    yield from _sizes(progress, start)


def _epochs(epochs: float | None) -> str:
    if not epochs:
        return ""
    return f", {render_number(epochs)} epoch{'' if epochs == 1 else 's'}"


def _sizes(progress: Progress, start: TrainingStarted) -> Iterator[Figure]:
    if start.parameters:
        yield Figure("parameters", render_count(start.parameters), _trainable(start))
    if progress.memory_bytes:
        yield Figure("peak memory", render_bytes(progress.memory_bytes), name_machine(start))
    if usage := _machine_usage(progress.state):
        yield Figure(
            "memory of the machine", f"{usage.memory_bytes / usage.memory_total_bytes:.0%}", describe_usage(usage)
        )


def _machine_usage(state: RunState) -> MachineUsage | None:
    """Return the most memory that the machine of any attempt had in use; None if no backend measured it."""
    peak = None
    for attempt in state.attempts:
        peak = attempt.usage.peak(peak) if attempt.usage else peak
    return peak if peak and peak.memory_total_bytes else None


def describe_usage(usage: MachineUsage) -> str:
    """Return the memory of a machine that was in use, in words.

    >>> describe_usage(MachineUsage(memory_bytes=3 * 10**9, memory_total_bytes=15 * 10**9, gpu_bytes=20 * 10**9, gpu_total_bytes=24 * 10**9))
    'at most 3 GB of 15 GB; of a GPU 20 GB of 24 GB'
    """
    said = f"at most {render_bytes(usage.memory_bytes)} of {render_bytes(usage.memory_total_bytes)}"
    if not usage.gpu_total_bytes:
        return said
    return f"{said}; of a GPU {render_bytes(usage.gpu_bytes)} of {render_bytes(usage.gpu_total_bytes)}"


def _trainable(start: TrainingStarted) -> str:
    share = start.trainable / start.parameters
    return "all trained" if share == 1 else f"{render_count(start.trainable)} trained ({share:.2%})"


def name_machine(start: TrainingStarted) -> str:
    """Name what training ran on, equal devices once.

    >>> name_machine(TrainingStarted(hardware=("A100", "A100")))
    '2 x A100'
    """
    kinds = {name: start.hardware.count(name) for name in start.hardware}
    return ", ".join(name if count == 1 else f"{count} x {name}" for name, count in kinds.items())


def tabulate_evaluations(curves: Mapping[str, Curve]) -> Table:
    """Return the evaluations as a table: its header, and its rows by step."""
    names = [name for name in curves if name.startswith("eval_") and not name.endswith(HIDDEN_METRICS)]
    columns = [dict(curves[name].points) for name in names]
    steps = sorted(set[float]().union(*columns))
    rows = [(f"{step:g}", *(_cell(each.get(step)) for each in columns)) for step in evenly(steps, EVALUATIONS)]
    return ("step", *names), tuple(rows)


def _cell(value: float | None) -> str:
    return "" if value is None else render_number(value)


def list_attempts(progress: Progress, events: Sequence[Event], now_s: float) -> Iterator[AttemptRow]:
    """Yield a row for each attempt; the duration of a running one is counted until now."""
    polls = (event for event in events if isinstance(event, Polled))
    ended = {event.attempt: event.over_s for event in polls if event.answer is Liveness.ENDED}
    for attempt in progress.state.attempts:
        yield _attempt_row(attempt, max(ended.get(attempt.number, now_s) - attempt.started_s, 0.0))


def _attempt_row(attempt: AttemptState, took_s: float) -> AttemptRow:
    return AttemptRow(
        number=attempt.number,
        backend=attempt.backend,
        stage=attempt.stage.value,
        steps=f"{attempt.steps} of {attempt.max_steps}" if attempt.max_steps else "-",
        resumed=last_name(attempt.resume_from) if attempt.resume_from else "the beginning",
        passed_over=attempt.passed_over,
        took=render_duration(took_s),
        exit_code=attempt.exit_code,
        because=_because(attempt) if attempt.stage is RunStage.FAILED else "",
        remedy=attempt.remedy,
        troubles=attempt.troubles,
        where=attempt.diagnosed.where if attempt.diagnosed else "",
        settings=describe_resumption(attempt.resumed) if attempt.resumed else "",
    )


def _because(attempt: AttemptState) -> str:
    where = attempt.end.where if attempt.end else None
    return how_it_failed(attempt) + (f" ({where})" if where else "")


def list_checkpoints(events: Iterable[Event], checkpoints: Mapping[str, str]) -> Iterator[CheckpointRow]:
    """Yield the checkpoints that are there by step, with the size that each was saved with."""
    saved = {each.path: each.bytes for each in training_events(events, CheckpointSaved)}
    for path, verdict in sorted(checkpoints.items(), key=lambda item: checkpoint_step(item[0]) or 0):
        folder, _, name = path.rstrip("/").rpartition("/")
        size = saved.get(path)
        yield CheckpointRow(name, folder, render_bytes(size) if size else "", verdict)


def last_name(path: str) -> str:
    """Return the last part of a path.

    >>> last_name("/runs/r/checkpoints/checkpoint-50/")
    'checkpoint-50'
    """
    return path.rstrip("/").rsplit("/", 1)[-1]


def checkpoint_step(path: str) -> int | None:
    """Return the step that a checkpoint's folder is named for.

    >>> checkpoint_step("/runs/r/checkpoints/checkpoint-50")
    50
    """
    step = path.rstrip("/").rpartition("-")[2]
    return int(step) if step.isdigit() else None
