"""The steps of an export: each is a stage that its process does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from holdfast.adapters.export.process import FailedStage, StageProcess
from holdfast.app.export.finding import ExportSource
from holdfast.core.errors import HoldfastError, SourceError, UnexportableError, UsageError
from holdfast.core.export import ReferenceAnswer, StageAnswer
from holdfast.engine.export.readiness import TOKENIZER_FILE, UNKNOWN
from holdfast.results.export import ExportStep

Answer = TypeVar("Answer", bound=StageAnswer)
ASKED_WRONGLY: Final[Mapping[str, str]] = {
    "adapter": "name the base that it was trained on with --base",
    "embeddings": "train again with the embeddings saved: `trainable_token_indices` or `modules_to_save` of LoraConfig",
    "several": "merge them one after the other: export the first, and the next with --base",
    "unmergeable": "such an adapter is served beside its base",
    "quantized": "name the model that it was quantized from with --base",
    "architecture": "export without GGUF files, or install a newer llama-cpp-python that knows it",
    "tokenizer file": "copy `tokenizer.model` from the base model into the folder of the tokenizer",
    "overflow": "choose bfloat16 or float32 with --dtype",
}
"""What to do about a kind of failure for which the question was wrong."""
SHARD_SIZE: Final = "5GB"
BROKEN: Final[Mapping[str, str]] = {
    "disk": "free some disk space, or choose another disk with --out",
    "memory": "use a machine with more memory",
    "killed": "use a machine with more memory",
    "converter": "the converter of this release cannot read this model: export without GGUF files, or install a newer llama-cpp-python",
    "unloadable": "the runtime of this release cannot read this model: export without GGUF files, or install a newer llama-cpp-python",
    "unsaved": "its files were not written whole: see to the disk, or choose another with --out, and export again",
    "damaged": "`holdfast verify` says whether its files are whole",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """The request.

    Attributes:
        source: What is exported.
        out: The folder to make.
        dtype: The dtype of the weights; None for that of the base.
        shard_size: The largest file of weights.
        gguf: The quantizations of GGUF files.
        sample: The text for the perplexity; empty for holdfast's own.
        max_loss: The share by which the perplexity may grow; None for what is usual.
        push: The repository to push to; empty for none.
        private: Whether it is made private.
        offline: Don't contact the Hub.
        is_twin: Whether the weights are random, so that of the checks of GGUF files only that of the token ids counts.
    """

    source: ExportSource
    out: Path
    dtype: str | None = None
    shard_size: str = SHARD_SIZE
    gguf: tuple[str, ...] = ()
    sample: str = ""
    max_loss: float | None = None
    push: str = ""
    private: bool = True
    offline: bool = False
    is_twin: bool = False


@dataclass(slots=True)
class Export:
    """An export on its way.

    Attributes:
        request: The request.
        process: Does the stages.
        on_progress: Receives each line of progress.
        heed: Called again and again; it raises if the person wants the export to end.
        steps: What was done.
        notes: What is worth knowing.
        original: What the original gave; None if nothing was compared with it.
    """

    request: ExportRequest
    process: StageProcess
    on_progress: Callable[[str], None]
    heed: Callable[[], None] = lambda: None
    steps: list[ExportStep] = field(default_factory=list[ExportStep])
    notes: list[str] = field(default_factory=list[str])
    original: ReferenceAnswer | None = None

    def do(self, name: str, stage: str, stage_request: Mapping[str, Any], answer: type[Answer]) -> Answer:
        """Do a step.

        Raises:
            UsageError: The question was wrong.
            SourceError: It failed.
        """
        self.on_progress(name)
        report = self.process.run(stage, stage_request, answer, heed=self.heed)
        if isinstance(report.answer, FailedStage):
            raise error_of(name, report.answer, self.request)
        self.steps.append(ExportStep(name=name, elapsed_s=report.elapsed_s, peak_bytes=report.answer.peak_bytes))
        return report.answer


def error_of(step: str, failed: FailedStage, request: ExportRequest) -> HoldfastError:
    """Return the error of a failed step."""
    source = request.source.found.source
    where = source.adapter if failed.failed == "adapter" and source.adapter else source.path
    if failed.failed == "adapter":
        what = f"the adapter does not fit its base {source.path}: {failed.because}"
        return UsageError(what, where=where, fix=ASKED_WRONGLY["adapter"])
    if failed.failed == "architecture":
        return UnexportableError(failed.because, UNKNOWN, where=where, fix=ASKED_WRONGLY[failed.failed])
    if failed.failed == "tokenizer file":
        return UnexportableError(
            failed.because, TOKENIZER_FILE, where=source.tokenizer, fix=ASKED_WRONGLY[failed.failed]
        )
    if failed.failed in ASKED_WRONGLY:
        return UsageError(failed.because, where=where, fix=ASKED_WRONGLY[failed.failed])
    place = str(request.out.parent) if failed.failed in ("disk", "unsaved") else where
    fix = BROKEN.get(
        failed.failed,
        "`holdfast verify` says whether the model's files are whole, `holdfast doctor` checks this machine",
    )
    return SourceError(f"{step} failed: {failed.because}", where=place, fix=fix)
