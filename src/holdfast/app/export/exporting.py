"""An export, in a folder that appears once everything is done."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.export.output_folder import bytes_of, deliver, draft_of
from holdfast.adapters.export.process import StageProcess
from holdfast.adapters.export.pushing import push_folder
from holdfast.app.export.describing import CARD, MODELFILE, write_card, write_modelfile
from holdfast.app.export.gguf import GgufPlan, make_gguf, prepare_gguf
from holdfast.app.export.steps import Export, ExportRequest
from holdfast.app.models.delivering import verify_folder
from holdfast.core.check.reference import Reference
from holdfast.core.export import MergeAnswer
from holdfast.engine.export.merging import merge_checks, merge_notes
from holdfast.engine.export.modelfile import has_template
from holdfast.results.export import ExportedFile, ExportResult
from holdfast.results.run import DeliveryResult

WEIGHTS: Final = "*.safetensors"
LIBRARIES: Final = ("torch", "transformers", "peft", "safetensors")
RUNTIME: Final = "llama-cpp-python"


def run_export(
    request: ExportRequest, on_progress: Callable[[str], None], heed: Callable[[], None] = lambda: None
) -> ExportResult:
    """Export a model.

    Args:
        request: The request.
        on_progress: Receives each line of progress.
        heed: Called again and again; it raises if the person wants the export to end.

    Raises:
        UsageError: The model cannot be exported.
        SourceError: It cannot be loaded, or the disk is full.
    """
    with draft_of(request.out) as scratch, StageProcess(offline=request.offline) as process:
        export = Export(request, process, on_progress, heed, notes=[*request.source.notes])
        plan = prepare_gguf(export, scratch) if request.gguf else None
        draft = scratch / "export"
        merged = _merge(export, draft)
        files = [_safetensors(request.out, merged, bytes_of(draft, WEIGHTS))]
        good = bool(files[0].path)
        if good and plan is not None:
            files += make_gguf(export, plan, draft, scratch)
        if good:
            _describe(export, files, draft, _versions(plan))
            deliver(draft, request.out)
    pushed = _push(request) if good and request.push else None
    return _result(export, merged, files, plan, pushed)


def _versions(plan: GgufPlan | None) -> dict[str, str]:
    return {name: version(name) for name in (LIBRARIES if plan is None else (*LIBRARIES, RUNTIME))}


def _describe(export: Export, files: list[ExportedFile], draft: Path, versions: dict[str, str]) -> None:
    """Write what goes along with the models."""
    write_card(export.request, files, versions, draft)
    original = export.original
    if original is None or not write_modelfile(files, original, draft):
        return
    if export.request.source.found.template and not has_template(original):
        export.notes.append(
            "the chat template depends on more than roles, so the Modelfile has none: Ollama looks for a similar one"
        )


def _push(request: ExportRequest) -> DeliveryResult:
    """Push the folder, and look whether it arrived."""
    began = SystemClock().now_s()
    push_folder(request.out, request.push, private=request.private)
    found = verify_folder(Reference(role="target", name=request.push, key="--push"), str(request.out), began)
    return DeliveryResult(
        repository=request.push, verdict=found.verdict, because=found.because, folder=str(request.out)
    )


def _safetensors(out: Path, merged: MergeAnswer, size: int) -> ExportedFile:
    checks = merge_checks(merged, size)
    good = all(check.verdict == "pass" for check in checks)
    return ExportedFile(
        path=str(out) if good else "",
        format="safetensors",
        quantization=None,
        bytes=size,
        memory_bytes=size,
        types={},
        checks=checks,
    )


def _merge(export: Export, draft: Path) -> MergeAnswer:
    source = export.request.source
    stage_request = {
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
    merged = export.do("merge" if source.adapters else "copy", "merge", stage_request, MergeAnswer)
    export.notes += merge_notes(merged, adapters=bool(source.adapters))
    return merged


def _result(
    export: Export, merged: MergeAnswer, files: list[ExportedFile], plan: GgufPlan | None, pushed: DeliveryResult | None
) -> ExportResult:
    source, out = export.request.source, export.request.out
    delivered = bool(files[0].path)
    return ExportResult(
        verb="export",
        verdict=_verdict(files, pushed),
        model=source.name,
        base=source.base,
        adapters=source.adapters,
        output=str(out) if delivered else "",
        files=files,
        dtype=merged.dtype,
        precision=merged.precision,
        tied=merged.tied,
        added_tokens=merged.resized,
        converter=plan.converter_text if plan else "",
        pre_tokenizer=plan.pre_tokenizer_text if plan else "",
        modelfile=str(out / MODELFILE) if _has_gguf(files) else "",
        card=str(out / CARD) if delivered else "",
        notes=export.notes,
        steps=export.steps,
        versions=_versions(plan),
        pushed=pushed,
    )


def _verdict(files: list[ExportedFile], pushed: DeliveryResult | None) -> Literal["pass", "fail"]:
    """Return `fail` if a proof of a file fails, or the push did not arrive."""
    failed = any(check.verdict == "fail" for file in files for check in file.checks)
    return "fail" if failed or (pushed is not None and pushed.verdict != "arrived") else "pass"


def _has_gguf(files: list[ExportedFile]) -> bool:
    return any(file.format == "gguf" and file.path for file in files)
