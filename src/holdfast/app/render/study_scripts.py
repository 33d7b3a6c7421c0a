"""The scripts of a study, which run without holdfast."""

from holdfast.adapters.storage.study_folder import study_folder
from holdfast.adapters.targets import read_referred
from holdfast.app.arguments import runs_folder
from holdfast.app.study.options import tracked_names
from holdfast.app.study.preparing import PreparedTrial, prepare_trials
from holdfast.app.study.reading import StudyFile, read_study
from holdfast.app.study.searching import with_proposals
from holdfast.core.errors import Spot, UsageError
from holdfast.core.job_file.secret_references import separate_secrets
from holdfast.core.text.redact import named_secrets
from holdfast.engine.script.render import referred_files, render_script
from holdfast.engine.study.metric_checks import is_logged
from holdfast.engine.study.scripts import TrialScript, render_study_scripts


def study_scripts(path: str) -> tuple[dict[str, str], list[str]]:
    """Return the scripts of a study by their file names, the main one first, then one for each kind of trial; and the secrets of its jobs.

    Args:
        path: The study file.

    Raises:
        UsageError: There is no such study, or its metric is not one of the trainer.
        ExceptionGroup: One error for each mistake in it.
    """
    file = read_study(path)
    _require_logged(file)
    runs = runs_folder(None, str(file.job.get("output.folder", "") or "") or None)
    file = with_proposals(file, study_folder(runs, file.name))
    trials = prepare_trials(file)
    secrets = [secret for each in trials for secret in named_secrets(each.target.document.values)]
    return render_study_scripts(file.name, file.study, [_script(file, each) for each in trials]), secrets


def _require_logged(file: StudyFile) -> None:
    """Refuse a study whose metric its scripts could not measure.

    Raises:
        UsageError: Its metric is one of `evaluate:`.
    """
    metric = file.study.metric
    if not is_logged(metric):
        what = f"`{metric.name}` is measured by `holdfast evaluate`, and the scripts of a study run without holdfast"
        fix = "compare trials by a metric of the trainer, such as `eval_loss`"
        raise UsageError(what, where=Spot.of(file.document.place("metric")), fix=fix)


def _script(file: StudyFile, prepared: PreparedTrial) -> TrialScript:
    """Return the script of a trial. All have the study's name, so that trials of one kind have one script."""
    job, _ = separate_secrets(prepared.job)
    job = job.model_copy(update={"track": job.track.model_copy(update=tracked_names(job, file.name))})
    sources = read_referred(referred_files(job), prepared.target.document.path)
    text = render_script(job, name=file.name, sources=sources, is_trial=True)
    return TrialScript(prepared.trial, job.method.value, text)
