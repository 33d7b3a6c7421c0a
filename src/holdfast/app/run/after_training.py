"""Looking before training at what comes after it: the benchmark tasks and the export of the final model."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.adapters.environment.host_name import is_other_machine
from holdfast.adapters.storage.resolved import with_absolute_paths
from holdfast.adapters.targets import Target
from holdfast.app.run.evaluating import look_at_tasks
from holdfast.core.job.methods import Method
from holdfast.core.run.plan import PlannedEvaluation
from holdfast.engine.run.plans import planned_evaluations


@dataclass(frozen=True, slots=True)
class AfterTraining:
    """What a job does with its final model; two trials of a study often do the same.

    Attributes:
        evaluations: Evaluations on benchmark tasks.
        quantizations: The GGUF files that are made; empty for none.
        base: The model that is trained; empty without GGUF files.
        classifies: Whether training gives the model a head that classifies.
    """

    evaluations: tuple[PlannedEvaluation, ...] = ()
    quantizations: tuple[str, ...] = ()
    base: str = ""
    classifies: bool = False


def after_training(target: Target) -> AfterTraining:
    """Return what a target does with its final model here, as far as it can be looked at before; nothing for a script."""
    if target.job is None:
        return AfterTraining()
    job = with_absolute_paths(target.job, target.document.path)
    evaluations = tuple(each for each in planned_evaluations(job) if each.task)
    if not job.output.gguf or is_other_machine(job.output.export_on):
        return AfterTraining(evaluations)
    return AfterTraining(evaluations, tuple(job.output.gguf), job.model.path, classifies=job.method is Method.REWARD)


def look_ahead(after: AfterTraining, runs: Path, *, offline: bool) -> list[str]:
    """Look at all that is needed after training; return what is worth knowing of it.

    Args:
        after: What a job does with its final model.
        runs: The runs folder.
        offline: Don't contact the Hub.

    Raises:
        UsageError: It would fail after training; one error for each reason.
        SourceError: The tokenizer cannot be loaded.
    """
    if after.evaluations:
        look_at_tasks(after.evaluations, offline=offline)
    if not after.quantizations:
        return []
    from holdfast.app.run.exporting import look_at_export  # few jobs export

    return look_at_export(after.base, after.quantizations, str(runs), classifies=after.classifies, offline=offline)
