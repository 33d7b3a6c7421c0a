"""The report of a run: one self-contained HTML page that a newcomer understands. Pure: values in, text out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from shlex import quote
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from holdfast.core.job.document import Document
from holdfast.core.run.event import Event, RunStage, training_events
from holdfast.core.run.training_event import CheckpointSaved, TrainingStarted
from holdfast.engine.report.chart import Plot, evenly
from holdfast.engine.report.compared import ComparedDataset, compare_datasets, describe_evaluation, describe_export
from holdfast.engine.report.curves import Curve, gather_curves
from holdfast.engine.report.panels import main_plot, small_plots
from holdfast.engine.report.settings import RequestedSetting, list_settings
from holdfast.engine.report.tables import (
    AttemptRow,
    CheckpointRow,
    Figure,
    Table,
    last_name,
    list_attempts,
    list_checkpoints,
    list_figures,
    name_machine,
    tabulate_evaluations,
)
from holdfast.engine.run.advice import next_commands
from holdfast.engine.run.noise import METER
from holdfast.engine.run.progress import Progress, follow
from holdfast.engine.run.rehearsed import summarize_rehearsal
from holdfast.engine.run.screen import TerminalStream, plain
from holdfast.engine.run.summary import render_summary
from holdfast.results.check import CheckResult, ReportedFinding, ReportedSkip
from holdfast.results.evaluate import EvaluateResult
from holdfast.results.refusal import RunRefusal
from holdfast.results.rehearse import RehearseResult
from holdfast.results.run import NextCommand

SAMPLED = 6  # evaluations whose generations are shown, the first and the last among them
STDERR_LINES = 30
TONES = {RunStage.SUCCEEDED: "good", RunStage.FAILED: "bad", RunStage.CANCELLED: "halted"}
TEMPLATES = Environment(
    loader=PackageLoader("holdfast.engine"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
Message = Mapping[str, Any]
"""A message of a chat, as the training rows have it."""
WHO: Final = ({"role": "user", "content": "Who are you?"},)
TEMPLATES.filters["python"] = repr  # a string as Python source spells it


@dataclass(frozen=True, slots=True)
class Sample:
    """What the model wrote when it was evaluated.

    Attributes:
        step: When.
        prompt: A text, or the messages of a chat.
        completion: What it wrote.
    """

    step: int
    prompt: str | Sequence[Message]
    completion: str

    @property
    def shown(self) -> str:
        """The prompt as people read it: a text, a lone message, or each message behind its role."""
        match self.prompt:
            case str() as text:
                return text
            case [message]:
                return str(message.get("content"))
            case messages:
                return "\n\n".join(f"{each.get('role')}: {each.get('content')}" for each in messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """Everything that a report is made from.

    Attributes:
        run: Name of the run.
        events: All of its events, in order.
        job: The job as it ran, or None for a user's own script.
        check: What `check` found before the run, or None if the run was not checked.
        rehearsal: What the rehearsal before the run found, or None if there was none for this run.
        refusal: What forbade the run before it was started.
        evaluations: What the evaluation of the final model gave.
        samples: Generations at evaluations, in order.
        checkpoints: `whole`, `damaged` or `unverifiable` by path, of the checkpoints that are still there.
        model: Folder of the trained model, or None if there is none.
        last_output: The end of what the last attempt wrote to standard error, or to both streams if they are one.
        now_s: When the report is made, unix time.
    """

    run: str
    events: Sequence[Event]
    job: Document | None = None
    check: CheckResult | None = None
    rehearsal: RehearseResult | None = None
    refusal: Sequence[RunRefusal] = ()
    evaluations: Sequence[EvaluateResult] = ()
    samples: Sequence[Sample] = ()
    checkpoints: Mapping[str, str] = field(default_factory=dict[str, str])
    model: str | None = None
    last_output: str = ""
    now_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """What the template shows, in its words."""

    run: str
    stage: str
    tone: str
    verdict: str
    when: str
    figures: tuple[Figure, ...]
    warnings: tuple[str, ...]
    advice: tuple[NextCommand, ...]
    refusal: tuple[RunRefusal, ...]
    last_output: str
    plot: Plot | None
    small: tuple[Plot, ...]
    evaluations: Table
    evaluated: str
    compared: tuple[ComparedDataset, ...]
    exported: tuple[str, ...]
    samples: tuple[tuple[str, tuple[Sample, ...]], ...]
    settings: tuple[RequestedSetting, ...]
    job: str
    checked: bool
    findings: tuple[ReportedFinding, ...]
    skipped: tuple[ReportedSkip, ...]
    rehearsal: str
    attempts: tuple[AttemptRow, ...]
    checkpoints: tuple[CheckpointRow, ...]
    saved: int
    versions: Mapping[str, str]
    machine: str
    model: str | None
    model_class: str
    question: str | Sequence[Message]
    repeat: tuple[tuple[str, str], ...]


def render_report(data: ReportData) -> str:
    """Return the report as HTML. It needs nothing beside itself: no network, no script, no font."""
    return TEMPLATES.get_template("report.html.jinja").render(page=make_page(data))


def make_page(data: ReportData) -> ReportPage:
    """Gather what the report says."""
    progress, curves = follow(data.events), gather_curves(data.events)
    state = progress.state
    start = next(training_events(reversed(data.events), TrainingStarted), TrainingStarted())
    findings, skipped = _checked(data.check)
    return ReportPage(
        run=data.run,
        stage=progress.phase,
        tone=TONES.get(state.stage, "busy"),
        verdict=render_summary(progress, data.now_s),
        when=_moment(state.started_s),
        figures=tuple(list_figures(progress, start, data.now_s)),
        warnings=tuple(_warnings(data, curves)),
        advice=tuple(next_commands(data.run, state)),
        refusal=tuple(data.refusal),
        last_output="" if state.stage is RunStage.SUCCEEDED else _last_words(data.last_output),
        plot=main_plot(curves, progress),
        small=small_plots(curves, progress),
        evaluations=tabulate_evaluations(curves),
        evaluated=describe_evaluation(state.evaluated),
        compared=tuple(compare_datasets(data.evaluations)),
        exported=tuple(describe_export(state.exported)),
        samples=_samples(data.samples),
        settings=tuple(list_settings(data.job, state.about, start)),
        job=data.job.text if data.job else "",
        checked=bool(data.check and data.check.targets),
        findings=findings,
        skipped=skipped,
        rehearsal=summarize_rehearsal(data.rehearsal) if data.rehearsal else "",
        attempts=tuple(list_attempts(progress, data.events, data.now_s)),
        checkpoints=tuple(list_checkpoints(data.events, data.checkpoints)),
        saved=len([*training_events(data.events, CheckpointSaved)]),
        versions=start.versions,
        machine=name_machine(start),
        model=data.model,
        model_class=start.model,
        question=data.samples[0].prompt if data.samples else WHO,
        repeat=tuple(_repeat(data, progress)),
    )


def _checked(check: CheckResult | None) -> tuple[tuple[ReportedFinding, ...], tuple[ReportedSkip, ...]]:
    """Return the findings and the skipped rules of all targets."""
    targets = check.targets if check else ()
    findings = chain.from_iterable(target.findings for target in targets)
    return tuple(findings), tuple(chain.from_iterable(target.skipped for target in targets))


def _last_words(output: str) -> str:
    """Return the last lines as a terminal would show them: no bars, no noise."""
    stream = TerminalStream()
    lines = [plain(line) for line in (*stream.feed(output.encode()), *stream.close())]
    return "\n".join([line for line in lines if line and not METER.search(line)][-STDERR_LINES:])


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _warnings(data: ReportData, curves: Mapping[str, Curve]) -> Iterator[str]:
    """Yield the warnings for a reader who sees only a good verdict."""
    for name, curve in curves.items():
        if curve.broken:
            more = f" and {len(curve.broken) - 1} more" if len(curve.broken) > 1 else ""
            yield f"{name} was not finite at step {curve.broken[0]}{more}: the model may be spoilt."
    damaged = [path for path, verdict in data.checkpoints.items() if verdict == "damaged"]
    if damaged:
        yield f"Damaged: {', '.join(last_name(path) for path in damaged)}. Do not resume or load from there."


def _samples(samples: Sequence[Sample]) -> tuple[tuple[str, tuple[Sample, ...]], ...]:
    """Return the samples by prompt, each with those of a few steps."""
    by_prompt: dict[str, dict[int, Sample]] = {}
    for sample in samples:
        by_prompt.setdefault(sample.shown, {})[sample.step] = sample
    return tuple((prompt, tuple(evenly(list(of.values()), SAMPLED))) for prompt, of in by_prompt.items())


def _repeat(data: ReportData, progress: Progress) -> Iterator[tuple[str, str]]:
    """Yield the commands that do it again, each with what it does."""
    target = quote(progress.state.about.target or "job.yaml")
    if data.job:
        resolved = quote(f"{progress.state.folder}/job.resolved.yaml")
        yield f"holdfast run {resolved}", "trains again with these very settings and seeds"
        yield f"holdfast render {resolved} -o train.py", "gives the training script, which needs no holdfast"
    else:
        yield f"holdfast run {target}", "runs the script again"
    yield f"holdfast show {data.run}", "shows what the ledger has recorded of this run"
