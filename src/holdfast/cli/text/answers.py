"""Results of runs as text.

Each function takes a result and returns text with colours; whatever prints it removes them if they cannot be shown.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from click import style

from holdfast.cli.text.diagnosis import render_confidence, render_edit
from holdfast.cli.text.findings import render_check
from holdfast.cli.text.refusal import render_refusal
from holdfast.cli.text.rehearsal import render_rehearsal
from holdfast.cli.text.short_paths import short_path
from holdfast.core.run.requested_job import RequestedRun
from holdfast.engine.run.resuming import RESTORED
from holdfast.engine.units import render_duration, render_number
from holdfast.results.attempt import AttemptRecovery, AttemptResult, AttemptResume, ChosenCheckpoint
from holdfast.results.plan import EstimateRange
from holdfast.results.run import RunResult, RunsResult, VerifyResult

COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "refused": "red",
    "cancelled": "yellow",
    "running": "cyan",
    "queued": "cyan",
    "preparing": "cyan",
    "scheduled": "cyan",
    "unsupervised": "yellow",
}
MEASURES = (
    "eval_reward",
    "reward",
    "eval_loss",
    "train_loss",
)  # the list of runs shows the first of these that a run has
REFUSED = "refused by "
"""The beginning of the reason of a refused run."""
INDENT = 2


def render_run(result: RunResult) -> str:
    """Return the summary of a run: how it ended, where its model and report are, and what to do next."""
    lines = [_headline(result)]
    if result.check:
        lines = [render_check(result.check), "", *lines]
    if result.rehearsal:
        lines = [render_rehearsal(result.rehearsal), "", *lines]
    if summary := result.summary or result.because:
        lines.append(f"  {summary}")
    return "\n".join([*lines, *_entries([*_trouble_entries(result), *_end_entries(result)])])


def _trouble_entries(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield the short run that came first, the schedule, and the trouble of the last attempt."""
    if result.short_run:
        yield "short run", result.short_run
    yield from _schedule(result)
    for attempt in result.attempts[-1:]:
        yield from (("trouble", each.text) for each in attempt.troubles)


def _schedule(result: RunResult) -> Iterator[tuple[str, str]]:
    if result.schedule:
        yield "schedule", f"{result.schedule} on {result.asked.backend}"


def _end_entries(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield what came of a run: its cost, what its model is worth, where everything is, and what to do next."""
    if result.cost_usd:
        yield "cost", f"about ${result.cost_usd:.2f}"
    yield from _evaluated(result)
    yield from _exported(result)
    yield from _places(result)
    yield from ((each.label, each.command) for each in result.next)


def render_show(result: RunResult) -> str:
    """Return everything that the ledger has about a run."""
    older = (("older", f"holdfast show {each}") for each in reversed(result.others or ()))
    entries = [*_start_entries(result), *_progress_entries(result), *_end_entries(result), *older]
    because = [f"  {result.because}"] if result.because else []
    reasons = chain.from_iterable(map(render_refusal, result.refusal or ()))
    return "\n".join([_headline(result), *because, *reasons, *_entries(entries)])


def _start_entries(result: RunResult) -> Iterator[tuple[str, str]]:
    if result.asked.target:
        yield "job", _job_words(result.asked)
    if result.asked.scenario:
        yield "for", result.asked.scenario.describe()
    yield "started", render_moment(result.started_at)
    yield from _schedule(result)
    if result.rehearsed:
        yield "rehearsal", result.rehearsed


def _progress_entries(result: RunResult) -> Iterator[tuple[str, str]]:
    for attempt in result.attempts:
        yield from _attempt_entries(attempt)
    if result.is_unsupervised and result.attempts[-1].stage == "running":
        yield "supervisor", "gone; the training goes on without it, as far as is known"
    if result.remaining_s:
        yield "remaining", _remaining(result.remaining_s)
    if result.metrics:
        yield "metrics", _measures(result.metrics, result.metric_steps or {})


def _remaining(left: EstimateRange) -> str:
    between = f"{render_duration(left.low)} to {render_duration(left.high)}"
    return f"about {render_duration(left.value)} until the last step ({between}, by its steps so far)"


def _evaluated(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield what the evaluation of the final model says of each dataset, and what failed."""
    if not result.evaluation:
        return
    yield from (("evaluated", f"{short_path(each.dataset)}: {each.said}") for each in result.evaluation.datasets or ())
    if result.evaluation.verdict != "pass":
        yield f"evaluation {result.evaluation.verdict}", result.evaluation.because


def _exported(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield the GGUF files of the final model, and what failed."""
    if not result.export:
        return
    yield from (("exported", short_path(each)) for each in result.export.files)
    if result.export.verdict != "pass":
        yield f"export {result.export.verdict}", result.export.because


def render_runs(result: RunsResult) -> str:
    """Return a list of runs, one per line."""
    rows = [(run.run, _shown_stage(run), _short_request(run.asked), _steps(run), _measure(run)) for run in result.runs]
    unreadable = [f"{each.run}: {each.because} ({each.where}); {each.fix}" for each in result.unreadable]
    if not rows:
        return "\n".join(unreadable) or "no runs yet; `holdfast run JOB` starts one"
    header = ("run", "stage", "job", "steps", "result")
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    lines = [_row(header, widths, dim=True)]
    lines += [_row(row, widths, stage=row[1]) for row in rows]
    return "\n".join([*lines, *unreadable])


def render_verify(result: VerifyResult) -> str:
    """Return the verdict on a checkpoint as text, with its problems."""
    colour = "green" if result.verdict == "whole" else "red"
    at = f" (step {result.step})" if result.step is not None else ""
    head = f"{style(result.verdict, fg=colour, bold=True)} {result.path}{at}"
    return "\n".join([head, *(f"  {problem.file}: {problem.message}" for problem in result.problems)])


def _headline(result: RunResult) -> str:
    return f"{_stage(_shown_stage(result))} {style(result.run, bold=True)}"


def _shown_stage(run: RunResult) -> str:
    """Return the stage of a run in words for people: also `preparing` and `refused`, for one that never began, and `unsupervised`."""
    if run.is_unsupervised:
        return "unsupervised"
    if run.stage == "queued" and not run.attempts:
        return "preparing"
    return "refused" if run.refused_by else run.stage


def _stage(stage: str, width: int = 0) -> str:
    return style(stage.ljust(width), fg=COLOURS.get(stage), bold=True)


def _places(result: RunResult) -> Iterator[tuple[str, str]]:
    if result.removed:
        yield "model", f"removed: {result.removed}"
    elif result.output:
        yield "model", short_path(result.output)
    elif result.stage == "succeeded":
        yield "model", "none: the script saved none after training"
    if result.pushed:
        doubts = [found.because for found in result.deliveries if found.verdict == "unknown"]
        yield "pushed", f"{result.pushed} ({doubts[0]})" if doubts else result.pushed
    if result.stage in ("succeeded", "failed", "cancelled"):
        yield "report", short_path(f"{result.folder}/report.html")
    else:
        yield "folder", short_path(result.folder)


def _entries(entries: Iterable[tuple[str, str]]) -> list[str]:
    listed = list(entries)
    width = max((len(name) for name, _ in listed), default=0)
    return [f"{'':{INDENT}}{style(name.ljust(width), dim=True)}  {value}" for name, value in listed]


def _job_words(requested: RequestedRun) -> str:
    return f"{_short_request(requested)} ({requested.backend})"


def _short_request(requested: RequestedRun) -> str:
    return f"{requested.method} of {requested.model} on {requested.dataset}" if requested.method else requested.target


def _attempt_entries(attempt: AttemptResult) -> Iterator[tuple[str, str]]:
    yield "attempt", _attempt(attempt)
    yield from _resume_entries(attempt)
    if attempt.best:
        yield "best", _best(attempt.best)
    for trouble in attempt.troubles:
        yield "trouble", f"step {trouble.step}: {trouble.text}"
    if attempt.diagnosis:
        yield "cause", f"{attempt.diagnosis.title} ({render_confidence(attempt.diagnosis.confidence)})"
        if attempt.diagnosis.where:
            yield "where", attempt.diagnosis.where
    if attempt.recovery:
        yield from _recovery_entries(attempt, attempt.recovery)


def _best(best: ChosenCheckpoint) -> str:
    value = "" if best.value is None else f" {render_number(best.value)}"
    return f"{short_path(best.path)}, by {best.metric}{value}: the model is this checkpoint's"


def _recovery_entries(attempt: AttemptResult, recovery: AttemptRecovery) -> Iterator[tuple[str, str]]:
    """Yield what is changed for the next attempt, and why."""
    edits = [render_edit(each).partition(" ")[2] for each in attempt.remedy or ()]
    yield "changed", "; ".join([*edits, *_else_changed(recovery)]) or "nothing"
    yield "because", recovery.because
    for each in recovery.differs:
        yield "differs", each
    if recovery.undo:
        yield "undo", recovery.undo


def _resume_entries(attempt: AttemptResult) -> Iterator[tuple[str, str]]:
    for each in attempt.passed_over:
        yield "not resumed", each
    if attempt.resumed and attempt.resumed.verdict == "ignored":
        yield (
            "not resumed",
            f"training did not continue from {(attempt.resume_from or 'the checkpoint').rsplit('/', 1)[-1]}",
        )
    elif attempt.resumed and (said := _settings(attempt.resumed)):
        yield "settings", said


def _settings(resumed: AttemptResume) -> str:
    """Return how the settings of an attempt differ from those of its checkpoint; empty if they do not."""
    if resumed.verdict == "unknown":
        return "not compared: the checkpoint does not say how it was saved"
    edits = "; ".join(render_edit(each).partition(" ")[2] for each in resumed.changes)
    kept = [
        f"; `{each.key}` stays {each.before}"
        for each in resumed.changes
        if each.key in RESTORED and resumed.verdict == "accepted"
    ]
    return f"other than the checkpoint's, {resumed.verdict}: {edits}{''.join(kept)}" if edits else ""


def _else_changed(recovery: AttemptRecovery) -> Iterator[str]:
    if recovery.skips:
        first, last = recovery.skips
        yield f"steps {first} to {last} are skipped"
    if recovery.resumes_until == 0:
        yield "training starts over"


def _attempt(attempt: AttemptResult) -> str:
    words = [f"{attempt.number}: {_stage(attempt.stage)} on {attempt.backend}, {_done(attempt) or 'no'} steps"]
    if attempt.resume_from:
        words.append(f"from {attempt.resume_from.rsplit('/', 1)[-1]}")
    if attempt.exit_code and attempt.stage != "cancelled":  # one that stopped in order ends with 143, which is no error
        words.append(f"exit code {attempt.exit_code}")
    return ", ".join(words)


def _steps(run: RunResult) -> str:
    done = next((done for attempt in reversed(run.attempts) if (done := _done(attempt))), "-")
    return f"{done}, {render_duration(run.remaining_s.value)} left" if run.remaining_s else done


def _done(attempt: AttemptResult) -> str:
    """Return the steps done up to an attempt, of all steps: `140/300`; empty if its trainer never reported them."""
    return f"{attempt.steps}/{attempt.max_steps}" if attempt.max_steps else ""


def _measure(run: RunResult) -> str:
    """Return why a run was refused, else the metric that tells most of it."""
    if run.refused_by:
        return run.because.removeprefix(REFUSED)
    found = next((name for name in MEASURES if name in run.metrics), None)
    return f"{found} {render_number(run.metrics[found])}" if found else ""


def _measures(metrics: Mapping[str, float], steps: Mapping[str, int]) -> str:
    """Return the values of metrics; the step behind those that were measured together, if not all were."""
    by_step: dict[int | None, list[str]] = {}
    for name, value in metrics.items():
        by_step.setdefault(steps.get(name), []).append(f"{name} {render_number(value)}")
    several = len(by_step) > 1
    return "  ".join(
        "  ".join(figures) + (f" (step {step})" if several and step is not None else "")
        for step, figures in by_step.items()
    )


def render_moment(at_s: float) -> str:
    """Return a Unix time as this machine's date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_s))


def _row(cells: Sequence[str], widths: Sequence[int], *, stage: str = "", dim: bool = False) -> str:
    """Join a row's cells in columns; nothing is cut, so that a list can be read by programs too."""
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    painted = [style(cell, fg=COLOURS.get(stage)) if stage and cell.strip() == stage else cell for cell in padded]
    return style("  ".join(padded).rstrip(), dim=True) if dim else "  ".join(painted).rstrip()
