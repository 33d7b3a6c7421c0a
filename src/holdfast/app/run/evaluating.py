"""The evaluation of a run's final model, when training has ended: what `holdfast evaluate` does, as the job file says."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from holdfast.adapters.clock import SystemClock
from holdfast.app.evaluate.asking import want_libraries
from holdfast.app.evaluate.task_names import NamedTasks, found_tasks
from holdfast.app.evaluate.verb import evaluate
from holdfast.core.errors import GroupedError, HoldfastError, UsageError
from holdfast.core.run.event import ModelEvaluated
from holdfast.core.run.plan import PlannedEvaluation
from holdfast.results.evaluate import EvaluateResult


def evaluate_final(
    folder: Path, evaluations: Sequence[PlannedEvaluation], heed: Callable[[], None], say: Callable[[str], None]
) -> ModelEvaluated:
    """Evaluate the final model of a run beside its base; one evaluation that fails does not stop the others.

    Args:
        folder: The run's folder.
        evaluations: What it is evaluated on.
        heed: Called again and again; it raises if the person wants it to end.
        say: Receives each line of progress.
    """
    files, failures = list[str](), list[str]()
    if because := _why_not(folder / "model", benchmarks=any(each.task for each in evaluations)):
        return ModelEvaluated(at_s=SystemClock().now_s(), verdict="skipped", because=because)

    def on_progress(message: str) -> None:
        heed()
        say(message)

    for each in evaluations:
        try:
            result = _evaluate(folder, each, on_progress)
        except HoldfastError as error:
            failures += _reasons(error)
        else:
            files.append(result.files[0])
            failures += _failures(result)
    return ModelEvaluated(
        at_s=SystemClock().now_s(),
        verdict="fail" if failures else "pass",
        because="; ".join(failures),
        files=tuple(files),
    )


def look_at_tasks(evaluations: Sequence[PlannedEvaluation], *, offline: bool) -> None:
    """Look before training whether lm-eval has the benchmark tasks of evaluations; where it is not installed, nothing is looked at.

    Raises:
        UsageError: It lacks one, or a task's file is broken; one error for each.
    """
    if not _has_libraries():
        return
    errors: list[HoldfastError] = []
    for each in evaluations:
        named = NamedTasks(
            names=each.task, few_shot=each.few_shot, limit=each.limit, allow_code=each.allow_code, offline=offline
        )
        with found_tasks(named, errors):
            pass  # only its names are of interest
    if errors:
        raise errors[0] if len(errors) == 1 else GroupedError("benchmark tasks cannot be evaluated", errors)


def _has_libraries() -> bool:
    try:
        want_libraries(benchmarks=True)
    except UsageError:
        return False
    return True


def _why_not(model: Path, *, benchmarks: bool) -> str:
    """Return why a final model cannot be evaluated here; empty if it can."""
    if not model.is_dir():
        return f"the final model is not on this machine: there is no {model}"
    try:
        want_libraries(benchmarks=benchmarks)
    except UsageError as error:
        return f"{error.what}; {error.fix}"
    return ""


def _evaluate(folder: Path, planned: PlannedEvaluation, on_progress: Callable[[str], None]) -> EvaluateResult:
    return evaluate(
        folder,
        on=planned.dataset,
        task=planned.task,
        few_shot=planned.few_shot,
        limit=planned.limit,
        allow_code=planned.allow_code,
        split=planned.split,
        config=planned.config,
        rows=planned.rows,
        metric=planned.metric,
        rewards=planned.rewards,
        by=planned.by,
        at_least=planned.at_least,
        not_worse_than=planned.not_worse_than,
        max_new_tokens=planned.max_new_tokens,
        seed=planned.seed,
        on_progress=on_progress,
    )


def _reasons(error: HoldfastError) -> list[str]:
    """Return why nothing was evaluated, each with what to do."""
    errors = error.exceptions if isinstance(error, GroupedError) else (error,)
    return [f"{each.what}; {each.fix}" for each in errors if isinstance(each, HoldfastError)]


def _failures(result: EvaluateResult) -> Iterator[str]:
    for failed in result.failed:
        yield f"{failed.dataset} failed: {failed.because}"
    for gate in result.gates:
        if not gate.passed:
            yield f"{gate.gate} does not hold{f' on {gate.dataset}' if gate.dataset else ''}: {gate.because}"
