"""An export, as text."""

from collections.abc import Iterator

from click import style

from holdfast.cli.text.short_paths import short_path
from holdfast.engine.units import render_bytes, render_duration
from holdfast.results.export import ExportedFile, ExportResult

COLOURS = {"pass": "green", "fail": "red"}


def render_export(result: ExportResult) -> str:
    """Return each model with its proofs, what is worth knowing, and the verdict."""
    parts = [
        *("\n".join(_file(each)) for each in result.files),
        *(["\n".join(_notes(result))] if result.notes else []),
        "\n".join(_verdict(result)),
    ]
    return "\n\n".join(parts)


def _file(file: ExportedFile) -> Iterator[str]:
    name = file.quantization or file.format
    size = f"{render_bytes(file.bytes)}, {render_bytes(file.memory_bytes)} of memory"
    yield (
        f"{style(name, bold=True)}: {size}"
        if file.path
        else f"{style(name, bold=True)}: {style('not delivered', fg='red')}"
    )
    if file.types:
        yield f"  tensors: {', '.join(f'{count} {kind}' for kind, count in file.types.items())}"
    for check in file.checks:
        yield f"  {style(check.verdict, fg=COLOURS[check.verdict])} {check.name:11} {check.because}"


def _notes(result: ExportResult) -> Iterator[str]:
    for note in result.notes:
        yield style(f"note: {note}", fg="yellow")


def _verdict(result: ExportResult) -> Iterator[str]:
    for step in result.steps:
        took = f"{render_duration(step.elapsed_s)}, {render_bytes(step.peak_bytes)} of memory"
        yield style(f"{step.name}: {took}", dim=True)
    summary = f"{result.verdict}: {result.model}"
    if result.base:
        summary += f", merged into {result.base} in {result.precision}, saved as {result.dtype}"
    yield style(summary, fg=COLOURS[result.verdict], bold=True)
    yield f"written: {short_path(result.output)}" if result.output else "nothing is written"
    if result.pushed:
        because = f": {result.pushed.because}" if result.pushed.because else ""
        yield f"push to {result.pushed.repository}: {result.pushed.verdict}{because}"
