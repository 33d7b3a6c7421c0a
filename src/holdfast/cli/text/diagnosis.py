"""The result of `diagnose` as text: the cause first, then the lines that show it, and what to do."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import Any, Final

from click import style
from msgspec import structs

from holdfast.cli.text.refusal import render_refusal
from holdfast.core.diagnose.diagnosis import GUESS_BELOW, SURE
from holdfast.core.run.event import RunStage
from holdfast.engine.diagnose.answers import JOB, TRAIN, kind_of
from holdfast.engine.diagnose.cleaning import is_bar, step_in
from holdfast.engine.diagnose.endings import ENDING
from holdfast.engine.units import render_counted
from holdfast.results.diagnose import (
    DiagnosedJob,
    DiagnoseResult,
    EarlierAttempt,
    RemedyEdit,
    ReportedCause,
    ReportedEvidence,
)

WIDTH: Final = 110
ENDINGS: Final = {
    RunStage.QUEUED: "never started",
    RunStage.RUNNING: "has no recorded end",
    RunStage.CANCELLED: "was cancelled",
}
"""How an earlier attempt ended, by its stage, if the stage alone does not say it."""
SHOWN: Final = 6
"""Lines of evidence that are shown for the first cause; the other causes show one."""
LONGEST: Final = 220  # characters of a line of evidence
QUIET: Final = """If the job is still running, it is healthy so far. If it has ended, say how: `--ended 137`, `--ended SIGTERM`, `--ended TIMEOUT`. \
With the job's script, as in `holdfast diagnose LOG SCRIPT`, its settings are compared with what the log shows."""
"""What to do with a log that shows no failure."""
NEAR = 0.5
"""The part of the first cause's confidence from which another one is shown."""
RETRY: Final = {
    "yes": "another attempt may succeed without a change",
    "after-change": "after {change}: without {pronoun}, another attempt fails the same way",
    "no": "only after a person has applied the fix: until then, no attempt can succeed",
}


def render_diagnosis(result: DiagnoseResult) -> str:
    """Return why a job failed, or that nothing is wrong, or what to read to find out."""
    return "\n".join(_lines(result))


def _lines(result: DiagnoseResult) -> Iterator[str]:
    if result.namesake:
        yield f"read {result.paths[0]}, which is here; a run has that name too: `holdfast show {result.namesake}`"
    if (job := result.job) and job.unread:
        yield f"{style('ignored', fg='yellow')} {job.path}, which cannot be read: {job.unread}"
    yield from _refused(result) if result.refused_by else _judged(result)
    yield from (f"  {style('earlier', dim=True)} {_ended(each)}" for each in result.earlier)


def _ended(attempt: EarlierAttempt) -> str:
    """Return how an earlier attempt ended, in words.

    >>> _ended(EarlierAttempt(number=1, stage=RunStage.FAILED, because="SIGKILL killed it", name="cpu-ram-oom-kill"))
    'attempt 1 failed: SIGKILL killed it (cpu-ram-oom-kill)'
    >>> _ended(EarlierAttempt(number=2, stage=RunStage.QUEUED, because="", name=None))
    'attempt 2 never started'
    """
    because = f": {attempt.because}" if attempt.because else ""
    ended = ENDINGS.get(attempt.stage, attempt.stage)
    return f"attempt {attempt.number} {ended}{because}" + (f" ({attempt.name})" if attempt.name else "")


def _judged(result: DiagnoseResult) -> Iterator[str]:
    """Yield what the logs show."""
    logs = [path for path in result.paths if path != ENDING]
    lines = result.lines - (len(result.paths) - len(logs))  # how it ended is a line of its own
    read = f"{render_counted(lines, 'line')} of {', '.join(logs)}"
    if result.verdict == "healthy":
        yield from _healthy(result, read)
    if result.verdict == "unknown":
        yield from _unknown(result, read)
    for number, cause in enumerate(_near(result.causes)):
        if number:
            yield from _other(f"{style('less likely', dim=True)} {_plainly(cause)}", cause)
        elif result.verdict == "unknown":
            yield from _other(f"{style('perhaps', dim=True)} {_named(cause)}", cause)
        elif result.verdict == "healthy":
            yield from _reassurance(cause)
        else:
            yield from _cause(cause, result.job)


def _near(causes: Sequence[ReportedCause]) -> Sequence[ReportedCause]:
    """Return the causes without those that are far less likely than the first: these are noise to a person. JSON has them."""
    least = causes[0].confidence * NEAR if causes else 0.0
    return [each for each in causes if each.confidence >= least]


def _refused(result: DiagnoseResult) -> Iterator[str]:
    """Yield why a run was refused: it wrote no log."""
    yield f"{style('refused', fg='red', bold=True)}: {result.run} was refused by its {result.refused_by} before it started"
    yield from (line for reason in result.refusal for line in render_refusal(reason))
    yield f"  {style('more', dim=True)} holdfast show {result.run}"


def _healthy(result: DiagnoseResult, read: str) -> Iterator[str]:
    """Yield that no failure was found; for a run that is still running, how to follow it."""
    if run := result.running:
        yield f"{style('running', fg='green', bold=True)}: no failure found so far in {read}"
        yield f"  {style('next', dim=True)} holdfast watch {run}"
    else:
        yield f"{style('healthy', fg='green', bold=True)}: no failure found in {read}"


def _unknown(result: DiagnoseResult, read: str) -> Iterator[str]:
    """Yield that the cause is unknown, and what would show it; for a log without any failure, what to do next."""
    what = f"no failure found in {read}" if result.quiet else f"the cause is not in {read}"
    yield f"{style('unknown', fg='yellow', bold=True)}: {what}"
    if result.quiet:
        yield _paragraph("next", QUIET)
    yield from (f"  {style('missing', dim=True)} {each}" for each in result.missing)


def _named(cause: ReportedCause, **styles: Any) -> str:
    sure = style(render_confidence(cause.confidence), dim=True)
    return f"{style(cause.name, bold=True, **styles)} ({sure}): {cause.title}"


def render_confidence(confidence: float) -> str:
    """Return the confidence of a cause; a low one is called a guess.

    >>> render_confidence(0.6), render_confidence(0.8), render_confidence(0.896)
    ('a guess, 60 %', 'probably, 80 %', '90 %')
    """
    sure = "a guess, " if confidence < GUESS_BELOW else "" if _is_sure(confidence) else "probably, "
    return f"{sure}{100 * confidence:.0f} %"


def _is_sure(confidence: float) -> bool:
    """True if a cause is stated as a fact; by the percent that is shown beside it."""
    return round(confidence, 2) >= SURE


def _plainly(cause: ReportedCause) -> str:
    """Return a class without its confidence: next to each other, the confidences of several classes look like parts of 100 %."""
    return f"{style(cause.name, bold=True)}: {cause.title}"


def _other(first_line: str, cause: ReportedCause) -> Iterator[str]:
    yield ""
    yield first_line
    yield from _evidence(cause.evidence[:1])


def _reassurance(cause: ReportedCause) -> Iterator[str]:
    """Yield why something that looks like a fault is none; a healthy job needs no other attempt."""
    yield from _evidence(cause.evidence[:SHOWN])
    yield ""
    yield _paragraph("why", cause.cause)


def _cause(cause: ReportedCause, job: DiagnosedJob | None) -> Iterator[str]:
    yield _named(cause, fg="red")
    yield from _evidence(cause.evidence[:SHOWN])
    yield ""
    yield _paragraph("why", cause.cause if _is_sure(cause.confidence) else f"If this is the cause: {cause.cause}")
    yield _paragraph("fix", cause.fix)
    edits = _edits(cause, job)
    yield from (f"  {style('edit', fg='green')} {each}" for each in edits)
    change = "the fix" if not edits else "this edit" if len(edits) == 1 else "these edits"
    pronoun = "them" if len(edits) > 1 else "it"
    yield f"  {style('retry', dim=True)} {RETRY[cause.retry].format(change=change, pronoun=pronoun)}"
    if cause.prevented_by:
        yield f"  {style('found before launch by', dim=True)} {', '.join(cause.prevented_by)}"
    if cause.inspected_by:
        yield f"  {style('found in the data by', dim=True)} {', '.join(cause.inspected_by)} (`holdfast inspect`)"
    yield f"  {style('more', dim=True)} holdfast explain {cause.name}"


def _edits(cause: ReportedCause, job: DiagnosedJob | None) -> list[str]:
    """Return the changes in words: of a job file's keys, or of a script's arguments, which has no other keys."""
    edits = _applicable(cause.remedy or (), job)
    if job and kind_of(job.path) == JOB:
        return list(map(render_edit, edits))
    settings = [each for each in edits if each.key.startswith(TRAIN)]
    return [render_edit(structs.replace(each, key=each.key.removeprefix(TRAIN))) for each in settings]


def _applicable(edits: Iterable[RemedyEdit], job: DiagnosedJob | None) -> list[RemedyEdit]:
    """Return the edits, but for those that remove a setting if a log alone does not show that it is there."""
    return [each for each in edits if job or each.action != "remove" or each.before is not None]


def render_edit(remedy: RemedyEdit) -> str:
    """Return a change in words.

    >>> render_edit(RemedyEdit(key="train.max_seq_length", action="rename", before=256, after="max_length"))
    'rename `train.max_seq_length` to `max_length`'
    """
    change = f"{remedy.action} `{remedy.key}`"
    if remedy.action == "add":
        return f"add `{remedy.after}` to `{remedy.key}`"
    if remedy.action == "rename":
        return f"{change} to `{remedy.after}`"
    before = f" from {remedy.before}" if remedy.before is not None else ""
    after = f" to {remedy.after}" if remedy.after is not None else ""
    return change + before + after


def _evidence(lines: Sequence[ReportedEvidence]) -> Iterator[str]:
    """Yield the decisive line, then the others in the order of the log."""
    others = sorted(lines[1:], key=lambda each: (each.path != lines[0].path, each.path, each.line))
    for each in (*lines[:1], *others):
        rank = f" rank {each.rank}" if each.rank is not None else ""
        place = style(f"{each.path}:" if each.path == ENDING else f"{each.path}:{each.line}{rank}", dim=True)
        yield f"  {place} {_shown(each.text)}"


def _shown(text: str) -> str:
    """Return a line of evidence as people read it: of a progress bar, the step that it shows.

    >>> _shown(" 37%|███▋      | 37/100 [00:37<01:03,  1.00s/it]"), _shown("KeyError: 'text'")
    ('(the bar shows 37 of 100)', "KeyError: 'text'")
    """
    if is_bar(text) and (reached := step_in(text)):
        return "(the bar shows {} of {})".format(*reached)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _paragraph(name: str, text: str) -> str:
    paragraph = " ".join(text.split())
    first, rest = f"  {style(name, dim=True)} ", " " * (3 + len(name))
    # Addresses and commands stay whole, to be copied.
    return fill(
        paragraph, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
