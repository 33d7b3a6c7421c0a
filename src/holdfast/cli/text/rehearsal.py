"""The result of `rehearse` as text: each stage, why it failed, and what was not rehearsed."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import fill
from typing import Final

from click import style

from holdfast.cli.text.faults import render_faults
from holdfast.core.check.finding import Severity
from holdfast.core.job.scenario import ScenarioChoices
from holdfast.results.rehearse import RehearsalFailure, RehearseResult, ReportedSandbox, ReportedStage

WIDTH: Final = 110
SIGNS: Final = {"pass": ("pass", "green"), "fail": ("FAIL", "red")}
COLOURS: Final = {Severity.INFO: "cyan", Severity.WARNING: "yellow"}
SHOWN: Final = 3
"""Lines of evidence that are shown."""
LONGEST: Final = 160
"""Characters of a line of evidence, or of code."""
KNOWN: Final = 40
"""A line of evidence is left out if the cause contains this many of its first characters."""


def render_rehearsal(result: RehearseResult) -> str:
    """Return the result of each stage as text."""
    return "\n".join(_lines(result))


def _lines(result: RehearseResult) -> Iterator[str]:
    yield from _scenario(result.scenario)
    yield from _stages(result.stages)
    for failure in result.failures:
        yield ""
        yield from _failure(failure)
    for each in result.warnings:
        yield f"{style(each.severity, fg=COLOURS[each.severity])} {each.code} in `{each.stage}`: {each.message}"
    yield from _not_rehearsed(result)
    yield from render_faults(result.faults)
    yield ""
    yield from _sandbox(result.sandbox)
    if result.verdict == "pass" and result.isolated:
        yield "nothing failed: neither data, model nor code is to blame"
    yield _verdict(result)


def _not_rehearsed(result: RehearseResult) -> Iterator[str]:
    if result.not_rehearsed:
        yield ""
        yield style("not rehearsed", bold=True)
        yield from (f"  {each.what}: {each.because}" for each in result.not_rehearsed)


def _verdict(result: RehearseResult) -> str:
    colour = "green" if result.verdict == "pass" else "red"
    verdict = style(result.verdict, fg=colour, bold=True)
    return f"{verdict}: {result.path}, rehearsed in {result.elapsed_s:.1f} s{_how_far(result)}"


def _how_far(result: RehearseResult) -> str:
    """Return how far the rehearsal got if it did not show all stages that the job would reach; else nothing."""
    missed = _missed(result.stages)
    without_steps = f", but not from {missed[0]} on" if "`step`" in missed else ""
    if result.failures:
        return without_steps
    if little := _little(result.stages):
        return little
    return f": not rehearsed: {', '.join(missed)}" if missed and result.verdict != "pass" else without_steps


def _missed(stages: Sequence[ReportedStage]) -> list[str]:
    return [f"`{stage.name}`" for stage in stages if stage.missed]


def _little(stages: Sequence[ReportedStage]) -> str:
    """The note on a rehearsal in which no stage beyond `import` passed; empty if one did."""
    passed = {stage.name for stage in stages if stage.status == "pass"}
    if passed - {"import"}:
        return ""
    return f", but {'only `import`' if passed else 'nothing'} was rehearsed"


def _scenario(scenario: ScenarioChoices | None) -> Iterator[str]:
    if scenario:
        yield f"{style('for', bold=True)} {scenario.describe()}"
        yield ""


def _sandbox(sandbox: ReportedSandbox | None) -> Iterator[str]:
    """Yield what confined the script: the kernel, or only guards in Python."""
    if sandbox and sandbox.active:
        yield "sandbox: the kernel confined the script"
    elif sandbox:
        yield f"no sandbox: guards in Python alone confined the script ({sandbox.because})"


def _stages(stages: Sequence[ReportedStage]) -> Iterator[str]:
    """Yield a line for each stage that ran; those that were skipped one after another for the same reason share a line."""
    wide = max((len(stage.name) for stage in stages), default=0)
    stopped = any(stage.name == "stop" and stage.status == "pass" for stage in stages)
    failed = ""
    for because, group in groupby(stages, _skipped_because):
        if because is None:
            for stage in group:
                yield _ran(stage, wide) + style(_despite(stage, failed, stopped=stopped), dim=True)
                failed = stage.name if stage.status == "fail" else failed
        else:
            names = ", ".join(stage.name for stage in group)
            yield f"  {names:<{wide}}  {style(f'skipped: {because}', dim=True)}"


def _skipped_because(stage: ReportedStage) -> str | None:
    return stage.because if stage.status == "not_rehearsed" else None


def _ran(stage: ReportedStage, wide: int) -> str:
    sign, colour = SIGNS[stage.status]
    return f"  {stage.name:<{wide}}  {style(sign, fg=colour)} {stage.elapsed_s:6.2f} s"


def _despite(stage: ReportedStage, failed: str, *, stopped: bool) -> str:
    """The note on a stage that passed after another one had failed: what it resumed from if nothing was saved. Else empty."""
    if not failed or stage.status != "pass":
        return ""
    source = (
        "from the checkpoint that `stop` saved, " if stage.name == "resume" and failed == "save" and stopped else ""
    )
    return f"  {source}although `{failed}` failed"


def _failure(failure: RehearsalFailure) -> Iterator[str]:
    yield f"{style(failure.name, fg='red', bold=True)} in `{failure.stage}`{_at(failure)}: {failure.title}"
    if failure.code and failure.where:
        yield f"  {style(failure.where.rpartition(':')[2] + ' |', dim=True)} {failure.code[:LONGEST]}"
    cause = failure.cause
    for each in [each for each in failure.evidence if each.text[:KNOWN] not in cause][:SHOWN]:
        yield f"  {style(each.path, dim=True)}  {each.text[:LONGEST]}"
    yield _paragraph("why", cause)
    yield _paragraph("fix", failure.fix)
    if failure.blame != "unknown":
        yield f"  {style('blame', dim=True)} {failure.blame}: {failure.blamed_because}"
    yield f"  {style('more', dim=True)} holdfast explain {failure.name}"


def _at(failure: RehearsalFailure) -> str:
    """Return where a failure is: the line, and the key of the job file or the function that it belongs to."""
    where = f" at {failure.where}" if failure.where else ""
    key = f" (`{failure.key}`)" if failure.key else ""
    return where + key


def _paragraph(label: str, text: str) -> str:
    return fill(f"{label} {text}", WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)
