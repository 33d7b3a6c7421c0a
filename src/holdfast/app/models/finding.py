"""The model of a name: a folder, an adapter with its base, a run's final model, a GGUF file, or one of the Hub."""

from dataclasses import replace

from holdfast.adapters.evaluation.builtin_model import make_builtin
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.models.found_model import FoundModel, found_model
from holdfast.app.models.gguf_model import gguf_model, is_gguf
from holdfast.app.models.model_files import model_facts
from holdfast.app.models.run_models import known_runs, model_of_run
from holdfast.app.run_paths import hint_at_parents
from holdfast.catalog.builtin import MODELS
from holdfast.core.errors import UsageError
from holdfast.core.text.nearest import nearest
from holdfast.engine.run.naming import job_of_run


def find_model(name: str, *, runs: PathName | None, offline: bool, where: str = "MODEL") -> FoundModel:
    """Return a model by its name; nothing is loaded.

    Raises:
        UsageError: There is none of that name, or it lacks what an evaluation needs.
    """
    if name in MODELS:
        return replace(find_model(str(make_builtin(name)), runs=runs, offline=offline, where=where), name=name)
    if found := model_of_run(name, runs):
        return found
    if is_gguf(name):
        return gguf_model(name, where=where)
    try:
        facts = model_facts(name, offline=offline, where=where)
    except UsageError as error:
        near = _near_run(name, runs)
        raise UsageError(error.what, where=where, fix=near or error.fix) from None
    return found_model(name, facts, offline=offline, where=where)


def _near_run(name: str, runs: PathName | None) -> str | None:
    """Return the run that may have been meant, as a fix; None if no run is called alike.

    A run is called by its whole name, or by that of its job.
    """
    known = {called: run for run in known_runs(runs_folder(runs)) for called in (job_of_run(run), run)}
    near = nearest(name, tuple(known))
    if near:
        return f"there is the run {known[near]}; `holdfast runs` lists all"
    return hint_at_parents(name, runs_folder(runs))
