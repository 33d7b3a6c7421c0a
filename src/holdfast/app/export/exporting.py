"""The steps of an export, in a folder that appears once they are done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar

from holdfast.adapters.export.output_folder import bytes_of, deliver, draft_of
from holdfast.adapters.export.process import FailedStage, run_stage
from holdfast.app.export.finding import ExportSource
from holdfast.core.errors import HoldfastError, SourceError, UsageError
from holdfast.core.export import MergeAnswer, StageAnswer
from holdfast.engine.export.merging import merge_checks, merge_notes
from holdfast.results.export import ExportedFile, ExportResult, ExportStep

Answer = TypeVar("Answer", bound=StageAnswer)
WEIGHTS: Final = "*.safetensors"
LIBRARIES: Final = ("torch", "transformers", "peft", "safetensors")
ASKED_WRONGLY: Final[Mapping[str, str]] = {
    "adapter": "name the base that it was trained on with --base",
    "embeddings": "train again with the embeddings saved: `trainable_token_indices` or `modules_to_save` of LoraConfig",
    "several": "merge them one after the other: export the first, and the next with --base",
    "unmergeable": "such an adapter is served beside its base",
    "quantized": "name the model that it was quantized from with --base",
    "overflow": "choose bfloat16 or float32 with --dtype",
}
"""What to do about a kind of failure for which the question was wrong."""
BROKEN: Final[Mapping[str, str]] = {
    "disk": "free some disk space, or choose another disk with --out",
    "memory": "use a machine with more memory",
    "killed": "use a machine with more memory",
    "damaged": "`holdfast verify` says whether its files are whole",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What is asked for.

    Attributes:
        source: What is exported.
        out: The folder to make.
        dtype: The dtype of the weights; None for that of the base.
        shard_size: The largest file of weights.
        offline: Don't contact the Hub.
    """

    source: ExportSource
    out: Path
    dtype: str | None
    shard_size: str
    offline: bool


@dataclass(slots=True)
class Export:
    """An export on its way.

    Attributes:
        request: What is asked for.
        on_progress: Is told what happens.
        steps: What was done.
        notes: What is worth knowing.
    """

    request: ExportRequest
    on_progress: Callable[[str], None]
    steps: list[ExportStep] = field(default_factory=list[ExportStep])
    notes: list[str] = field(default_factory=list[str])

    def do(self, name: str, stage: str, asked: Mapping[str, Any], answer: type[Answer]) -> Answer:
        """Do a step.

        Raises:
            UsageError: The question was wrong.
            SourceError: It failed.
        """
        self.on_progress(name)
        report = run_stage(stage, asked, answer, offline=self.request.offline)
        if isinstance(report.answer, FailedStage):
            raise _error(name, report.answer, self.request)
        self.steps.append(ExportStep(name=name, elapsed_s=report.elapsed_s, peak_bytes=report.answer.peak_bytes))
        return report.answer


def run_export(request: ExportRequest, on_progress: Callable[[str], None]) -> ExportResult:
    """Export a model.

    Raises:
        UsageError: The model cannot be exported.
        SourceError: It cannot be loaded, or the disk is full.
    """
    export = Export(request, on_progress, notes=[*request.source.notes])
    with draft_of(request.out) as scratch:
        draft = scratch / "export"
        merged = _merge(export, draft)
        checks = merge_checks(merged, bytes_of(draft, WEIGHTS))
        good = all(check.verdict == "pass" for check in checks)
        model = ExportedFile(
            path=str(request.out) if good else "",
            format="safetensors",
            quantization=None,
            bytes=bytes_of(draft, WEIGHTS),
            memory_bytes=bytes_of(draft, WEIGHTS),
            types={},
            checks=checks,
        )
        if good:
            deliver(draft, request.out)
    return _result(export, merged, [model], delivered=good)


def _merge(export: Export, draft: Path) -> MergeAnswer:
    source = export.request.source
    asked = {
        "path": source.found.source.path,
        "revision": source.revision,
        "adapters": source.adapters,
        "tokenizer": source.found.source.tokenizer,
        "template": source.found.source.template,
        "classifies": source.found.source.classifies,
        "dtype": export.request.dtype,
        "shard_size": export.request.shard_size,
        "out": str(draft),
    }
    merged = export.do("merge", "merge", asked, MergeAnswer)
    export.notes += merge_notes(merged, adapters=bool(source.adapters))
    return merged


def _result(export: Export, merged: MergeAnswer, files: list[ExportedFile], *, delivered: bool) -> ExportResult:
    source = export.request.source
    failed = any(check.verdict == "fail" for file in files for check in file.checks)
    return ExportResult(
        verb="export",
        verdict="fail" if failed else "pass",
        model=source.name,
        base=source.base,
        adapters=source.adapters,
        output=str(export.request.out) if delivered else "",
        files=files,
        dtype=merged.dtype,
        precision=merged.precision,
        tied=merged.tied,
        added_tokens=merged.resized,
        converter="",
        pre_tokenizer="",
        modelfile="",
        card="",
        notes=export.notes,
        steps=export.steps,
        versions={name: version(name) for name in LIBRARIES},
        pushed=None,
    )


def _error(step: str, failed: FailedStage, request: ExportRequest) -> HoldfastError:
    """Return what a failed step is told as."""
    source = request.source.found.source
    where = source.adapter if failed.failed == "adapter" and source.adapter else source.path
    if failed.failed == "adapter":
        what = f"the adapter does not fit its base {source.path}: {failed.because}"
        return UsageError(what, where=where, fix=ASKED_WRONGLY["adapter"])
    if failed.failed in ASKED_WRONGLY:
        return UsageError(failed.because, where=where, fix=ASKED_WRONGLY[failed.failed])
    place = str(request.out.parent) if failed.failed == "disk" else where
    fix = BROKEN.get(
        failed.failed,
        "`holdfast verify` says whether the model's files are whole, `holdfast doctor` checks this machine",
    )
    return SourceError(f"{step} failed: {failed.because}", where=place, fix=fix)
