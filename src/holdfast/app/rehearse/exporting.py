"""The export of a rehearsal: the GGUF files that the job asks for are made of the twin, by the code that makes them of the model."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from holdfast.app.export.exporting import run_export
from holdfast.app.export.finding import find_source
from holdfast.app.export.gguf import READ_ALIKE
from holdfast.app.export.steps import ExportRequest
from holdfast.app.export.verb import want_libraries
from holdfast.app.rehearse.playing import OnProgress
from holdfast.core.errors import HoldfastError, UnexportableError, flatten
from holdfast.core.rehearse.rehearsal import Failure, Objection, Omitted, Rehearsal, StageName, StageResult
from holdfast.engine.export.readiness import PRE_TOKENIZER, UNKNOWN
from holdfast.engine.rehearse.naming import name_cause
from holdfast.payload.rehearsal.part_request import EXPORTED
from holdfast.results.export import ExportResult

EXPORT: Final[StageName] = "export"
KEY: Final = "output.gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExportOutcome:
    """What came of the export of a twin."""

    failures: tuple[Failure, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    warnings: tuple[Objection, ...] = ()


def rehearse_export(
    found: Rehearsal, folder: Path, quantizations: Sequence[str], on_progress: OnProgress, *, offline: bool
) -> Rehearsal:
    """Return a rehearsal with what came of the export; one that failed before exports nothing.

    Args:
        found: The rehearsal.
        folder: The folder of its whole path.
        quantizations: The GGUF files that the job makes.
        on_progress: Called with each message about progress.
        offline: Don't contact the Hub.
    """
    if not found.passed or not (folder / EXPORTED / "config.json").is_file():
        return found
    began_s = time.monotonic()
    try:
        outcome = _outcome_of(_export(folder, quantizations, on_progress, offline=offline))
    except HoldfastError as error:
        outcome = _outcome_of_error(error)
    elapsed_s = time.monotonic() - began_s
    return replace(
        found,
        stages=tuple(_with_export(each, outcome.failures, elapsed_s) for each in found.stages),
        failures=(*found.failures, *outcome.failures),
        omitted=(*found.omitted, *outcome.omitted),
        warnings=(*found.warnings, *outcome.warnings),
    )


def _export(folder: Path, quantizations: Sequence[str], on_progress: OnProgress, *, offline: bool) -> ExportResult:
    """Export the twin.

    Raises:
        HoldfastError: It cannot be exported.
    """
    want_libraries()
    source = find_source(str(folder / EXPORTED), base=None, more=(), runs=None, offline=offline)
    request = ExportRequest(
        source=source, out=folder / "gguf", gguf=tuple(quantizations), offline=offline, is_twin=True
    )
    return run_export(request, lambda step: on_progress(f"export: {step}"))


def _outcome_of(result: ExportResult) -> _ExportOutcome:
    failures = tuple(_unequal_tokens(result))
    return _ExportOutcome(failures=failures, warnings=() if failures else tuple(_doubts(result)))


def _outcome_of_error(error: HoldfastError) -> _ExportOutcome:
    """Return what follows from an error: a failure if its class is known; otherwise it may be one of the twin alone."""
    errors = flatten(error)
    failures = tuple(_failure(each) for each in errors if isinstance(each, UnexportableError))
    unknown = [] if failures else errors
    return _ExportOutcome(
        failures=failures, omitted=tuple(Omitted(what="GGUF files", because=each.what) for each in unknown)
    )


def _failure(error: UnexportableError) -> Failure:
    return Failure(stage=EXPORT, cause=name_cause(error.name, error.what, {}, fix=error.fix), key=KEY)


def _unequal_tokens(result: ExportResult) -> Iterator[Failure]:
    for file in result.files:
        for check in file.checks:
            if check.name == READ_ALIKE and check.verdict == "fail":
                cause = name_cause(PRE_TOKENIZER, f"{file.quantization}: {check.because}", {})
                yield Failure(stage=EXPORT, cause=cause, key=KEY)
                return


def _doubts(result: ExportResult) -> Iterator[Objection]:
    """Yield the files that could not be made of the twin, or not loaded: of the model, they may be."""
    for file in result.files:
        for check in file.checks:
            if file.format == "gguf" and check.name == "weights" and check.verdict == "fail":
                message = f"the twin's {file.quantization} file could not be made: {check.because}"
                yield Objection(code=UNKNOWN, message=message, stage=EXPORT)


def _with_export(stage: StageResult, failures: Sequence[Failure], elapsed_s: float) -> StageResult:
    if stage.name != EXPORT:
        return stage
    took_s = stage.elapsed_s + elapsed_s
    if failures:
        return replace(stage, status="fail", elapsed_s=took_s, because=failures[0].cause.cause)
    return replace(stage, elapsed_s=took_s)
