"""The models of a run, with the base and the dataset that its job names."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import expanded, is_there, read_foreign_text, real_path
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.storage import resolved
from holdfast.adapters.storage.journal import JOURNAL
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.removal import read_removal
from holdfast.app.arguments import PathName, runs_folder
from holdfast.app.models.found_model import FoundModel, found_model
from holdfast.app.models.gguf_model import gguf_model, is_gguf
from holdfast.app.models.model_files import model_facts
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.job.document import Document
from holdfast.core.run.event import training_events
from holdfast.core.run.run_state import RunState, fold
from holdfast.core.run.training_event import CheckpointSaved
from holdfast.engine.run.naming import describe_several, matching_runs

FINAL: Final = "model"
"""The folder of a run's final model, in the run's folder."""


def model_of_run(name: str, runs: PathName | None) -> FoundModel | None:
    """Return the model of a run; None if the name is neither a run's nor that of a folder in one.

    Args:
        name: The run's name, the beginning of it, its folder, or the folder of one of its models, such as a checkpoint.
        runs: The runs folder.

    Raises:
        UsageError: The run has no final model, or several runs begin with the name.
    """
    path = expanded(name)
    if (run := _enclosing_run(path)) is not None:
        state = fold(Ledger(run.parent).outline(run.name))
        if real_path(path) in (run, run / FINAL):
            return _final_model(run, state)
        return replace(_model_in(run, real_path(path), state), name=name)
    if is_there(path) or "/" in name:
        return None
    base = runs_folder(runs)
    found = _run_called(name, base)
    return _final_model(base / found, fold(Ledger(base).outline(found))) if found else None


def _enclosing_run(path: Path) -> Path | None:
    """Return the folder of the run in which a folder is; None if it is in none."""
    here = real_path(path)
    inside = (here, *here.parents[:3])  # the deepest is runs/NAME/checkpoints/ATTEMPT/checkpoint-STEP
    return next((each for each in inside if is_there(each / JOURNAL)), None)


def _run_called(name: str, base: Path) -> str | None:
    """Return the run of a name, or of the beginning of one; None if there is none.

    Raises:
        UsageError: Several runs begin so.
    """
    known = known_runs(base)
    matching = matching_runs(name, known)
    if len(matching) > 1:
        fix = f"name one of {', '.join(matching)}; {matching[-1]} is the newest"
        raise UsageError(describe_several(name, matching), where=str(base), fix=fix)
    return matching[0] if matching else None


def known_runs(base: Path) -> tuple[str, ...]:
    """Return the names of the runs in a runs folder."""
    return tuple(Ledger(base).runs()) if base.is_dir() else ()


def _final_model(run: Path, state: RunState) -> FoundModel:
    """Return the final model of a run: the one in its folder, else the one that its script saved last.

    Raises:
        UsageError: There is none.
    """
    folder = run / FINAL if (run / FINAL).is_dir() or not state.saved_model else Path(state.saved_model)
    if not folder.is_dir():
        what = f"the run {run.name} has no final model: {_why_none(run, state)}"
        raise UsageError(what, where="MODEL", fix=_instead(run))
    return replace(_model_in(run, folder, state), name=run.name, is_final=True)


def _why_none(run: Path, state: RunState) -> str:
    """Return why a run has no final model."""
    removal = read_removal(run)
    if FINAL in removal.removed:
        return f"it was removed, since {removal.because}"
    if state.saved_model:
        return f"it was saved in {state.saved_model}, which is no longer there"
    if state.has_trained and not state.about.method:
        return "its script saved none after training"
    return state.because or f"it is {state.stage}"


def _instead(run: Path) -> str:
    """Return advice on what to name where there is no final model."""
    if FINAL in read_removal(run).removed:
        return "name a run whose model is kept, or run the job again"
    kept = kept_checkpoints(run)
    if kept:
        return f"name a checkpoint's folder, such as {kept[-1][1]}"
    return "end the script with `trainer.save_model(FOLDER)`, and run it again"


def kept_checkpoints(run: Path) -> list[tuple[int, Path]]:
    """Return the checkpoints of a run that are still there, by step: those in its folder, and where its script saves."""
    saved = training_events(Ledger(run.parent).outline(run.name), CheckpointSaved)
    paths = {*run.glob("checkpoints/*/checkpoint-*"), *(Path(each.path) for each in saved if each.path)}
    numbered = [(path.name.rpartition("-")[2], path) for path in paths if path.is_dir()]
    return sorted((int(step), path) for step, path in numbered if step.isdigit())


def _model_in(run: Path, path: Path, state: RunState) -> FoundModel:
    """Return a model or a GGUF file in the folder of a run, with its base and its dataset as the resolved job file names them."""
    job = _resolved_job(run)
    found = _found_in(str(path))
    return replace(
        found,
        base=found.base or job.get("model.path", state.about.model or _loaded_from(state)),
        trained_on=job.get("dataset.path", state.about.dataset),
        run=run,
    )


def _found_in(name: str) -> FoundModel:
    if is_gguf(name):
        return gguf_model(name, where="MODEL")
    return found_model(name, model_facts(name, offline=True, where="MODEL"), offline=True, where="MODEL")


def _loaded_from(state: RunState) -> str | None:
    """Return the settings that a script's training reported at its start; None if it reported none."""
    started = state.current.started if state.current else None
    return (started.base or None) if started else None


def _resolved_job(run: Path) -> Document:
    """Return the job of a run with absolute paths; one without values if it cannot be read."""
    path = run / resolved.RESOLVED_JOB_FILE
    with suppress(OSError, ExceptionGroup, HoldfastError):
        return JobFileReader().read(read_foreign_text(path), path.name)
    return Document(path=path.name, kind="job", values={})
