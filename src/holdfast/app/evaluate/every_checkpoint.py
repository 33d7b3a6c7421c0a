"""An evaluation, also of the checkpoints of a run: each beside the final model on the same rows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.evaluation.store import EvaluationStore
from holdfast.adapters.storage.checkpoints import verify_checkpoint
from holdfast.app.evaluate.asking import EvaluationRequest
from holdfast.app.evaluate.evaluating import run_evaluation
from holdfast.app.models.finding import find_model
from holdfast.app.models.run_models import kept_checkpoints
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.run.checkpoint import describe_damage
from holdfast.results.evaluate import EvaluatedCheckpoint, EvaluateResult

COMPARED_ONCE: Final = "the rows are compared once, with the final model's figures"


def run_request(
    request: EvaluationRequest, folder: Path, on_progress: Callable[[str], None], *, checkpoints: bool
) -> EvaluateResult:
    """Evaluate a model; if checkpoints are wanted, first those that its run has kept, and name the best.

    Raises:
        UsageError: The model is no run's, or the run keeps no checkpoint.
        SourceError: The final model cannot be loaded.
        LedgerError: The results cannot be written.
    """
    if checkpoints:
        done = [_evaluate(request, step, path, folder, on_progress) for step, path in _checkpoints(request)]
        request = replace(request, checkpoints=done)
    store = EvaluationStore(folder, SystemClock().now_s())
    return run_evaluation(request, store, on_progress)


def _checkpoints(request: EvaluationRequest) -> list[tuple[int, Path]]:
    """Return the checkpoints of the run, by step."""
    run = request.model.run
    if run is None or not request.model.is_final:
        raise UsageError(f"{request.name} is no run", where="--every", fix="name a run; `holdfast runs` lists them")
    found = kept_checkpoints(run)
    if not found:
        raise UsageError(f"{request.model.name} keeps no checkpoint", where="--every", fix="leave out --every")
    return found


def _evaluate(
    request: EvaluationRequest, step: int, path: Path, folder: Path, on_progress: Callable[[str], None]
) -> EvaluatedCheckpoint:
    """Evaluate one checkpoint beside the final model; one that is damaged does not stop the others."""
    integrity = verify_checkpoint(path)
    if integrity.verdict == "damaged":
        return _left_out(step, path, describe_damage(integrity))
    options = replace(request.options, by=(), requested=replace(request.options.requested, at_least=()))
    try:
        model = find_model(str(path), runs=None, offline=True)
        of_checkpoint = replace(
            request,
            name=str(path),
            model=model,
            base=request.model,
            gated=False,
            training=(),
            training_unknown=COMPARED_ONCE,
            prompts=(),
            options=options,
        )
        result = run_evaluation(of_checkpoint, EvaluationStore(folder, SystemClock().now_s()), on_progress)
    except (UsageError, SourceError) as error:
        return _left_out(step, path, error.what)
    because = "; ".join(f"{failed.dataset} failed: {failed.because}" for failed in result.failed)
    return EvaluatedCheckpoint(
        step=step, folder=str(path), figures=result.results, because=because, file=result.files[0]
    )


def _left_out(step: int, path: Path, because: str) -> EvaluatedCheckpoint:
    return EvaluatedCheckpoint(step=step, folder=str(path), figures=(), because=because, file="")
