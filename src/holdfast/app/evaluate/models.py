"""The model that is evaluated: a folder, an adapter with its base, a run's final model, or one of the Hub."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.evaluation.builtin_model import make_builtin
from holdfast.adapters.evaluation.process import ModelSource
from holdfast.adapters.foreign_files import expanded, is_there, read_foreign_text
from holdfast.adapters.local.models import LocalModels
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.storage import resolved
from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.arguments import PathName, runs_folder
from holdfast.catalog.builtin import BUILTIN, MODELS
from holdfast.catalog.hub.repositories import may_be_repository
from holdfast.catalog.references import some_of
from holdfast.core.document import Document
from holdfast.core.errors import HoldfastError, SourceError, UsageError
from holdfast.core.facts import ModelFacts
from holdfast.core.nearest import nearest
from holdfast.core.reference import Reference
from holdfast.core.run_state import RunState, fold

VOCABULARIES: Final = frozenset(
    {"tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "spm.model", "tekken.json"}
)
HEAD: Final = "ForSequenceClassification"
WEIGHTS: Final = (".safetensors", ".bin", ".index.json")
CLASSIFIES: Final = "SEQ_CLS"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """A model that can be evaluated.

    Attributes:
        name: As it was named.
        source: Where it is loaded from.
        identity: What tells its weights from others.
        template: Its chat template; None if it has none.
        labels: The labels of its head; none of a model that writes, one of a reward model.
        base: The name of the model that it was trained from; None if that is not known.
        trained_on: The dataset that it was trained on; None if that is not known.
        is_run: Whether it is the final model of a run.
    """

    name: str
    source: ModelSource
    identity: str
    template: str | None
    labels: tuple[str, ...] = ()
    base: str | None = None
    trained_on: str | None = None
    is_run: bool = False

    @property
    def folder(self) -> str:
        """Its own folder: of an adapter, the adapter's."""
        return self.source.adapter or self.source.path


def find_model(name: str, *, runs: PathName | None, offline: bool, where: str = "MODEL") -> FoundModel:
    """Return a model by its name; nothing is loaded.

    Raises:
        UsageError: There is none of that name, or it lacks what an evaluation needs.
    """
    if name in MODELS:
        return replace(find_model(str(make_builtin(name)), runs=runs, offline=offline, where=where), name=name)
    if name.lower().endswith(".gguf"):
        fix = "name the folder that it was converted from"
        raise UsageError(f"GGUF files cannot be evaluated: {name}", where=where, fix=fix)
    if run := _run_of(name, runs):
        return run
    return _found(name, model_facts(name, offline=offline, where=where), offline=offline, where=where)


def _run_of(name: str, runs: PathName | None) -> FoundModel | None:
    """Return the final model of a run, with its base and its dataset; None if the name is no run's.

    Raises:
        UsageError: The run has no final model.
    """
    path = expanded(name)
    is_folder = (path / "job.resolved.yaml").is_file()
    if not is_folder and (is_there(path) or "/" in name):
        return None
    base = path.resolve().parent if is_folder else runs_folder(runs)
    wanted = path.resolve().name if is_folder else name
    ledger = Ledger(base)
    known = ledger.runs() if base.is_dir() else []
    matching = [each for each in known if each == wanted] or [each for each in known if each.startswith(wanted)]
    if len(matching) > 1:
        what = f"{len(matching)} runs begin with {wanted!r}"
        raise UsageError(what, where=str(base), fix=f"one of {', '.join(matching)}")
    return _final_model(base / matching[0], fold(ledger.outline(matching[0]))) if matching else None


def _final_model(folder: Path, run: RunState) -> FoundModel:
    """Return the final model of a run, with its base and its dataset as the resolved job file names them.

    Raises:
        UsageError: There is none.
    """
    model, job = folder / "model", _resolved_job(folder)
    if not model.is_dir():
        because = run.because or f"it is {run.stage}"
        what, fix = f"the run {folder.name} has no final model: {because}", "name a checkpoint's folder"
        raise UsageError(what, where="MODEL", fix=fix)
    found = _found(str(model), model_facts(str(model), offline=True, where="MODEL"), offline=True, where="MODEL")
    return replace(
        found,
        name=folder.name,
        base=found.base or job.get("model.path", run.about.model),
        trained_on=job.get("dataset.path", run.about.dataset),
        is_run=True,
    )


def _resolved_job(folder: Path) -> Document:
    """Return the job of a run with absolute paths; one without values if it cannot be read."""
    path = folder / resolved.FILE
    with suppress(OSError, ExceptionGroup, HoldfastError):
        return JobFileReader().read(read_foreign_text(path), path.name)
    return Document(path=path.name, kind="job", values={})


def model_facts(name: str, *, offline: bool, where: str) -> ModelFacts:
    """Return the facts about a model's files.

    Raises:
        UsageError: There is no such model.
    """
    if name.startswith(BUILTIN):
        raise UsageError(f"holdfast makes no model {name}", where=where, fix=f"there is {', '.join(MODELS)}")
    path = expanded(name)
    if is_there(path):
        if not path.is_dir():
            raise UsageError(f"{name} is a file, and no model", where=where, fix="name the folder of a model")
        return LocalModels().find(name) or ModelFacts(files=None)
    if not may_be_repository(name) or name.startswith((".", "/", "~")):
        raise _absent(name, where)
    return _cached(name) or _of_hub(name, offline=offline, where=where)


def _absent(name: str, where: str) -> UsageError:
    near = _near_folder(name)
    fix = f"there is {near}" if near else "name a folder, a run, or a model of the Hub"
    return UsageError(f"no such model: {name}", where=where, fix=fix)


def _near_folder(name: str) -> Path | None:
    """Return the folder whose name is most like another; None if none is."""
    folder = expanded(name).parent
    here = tuple(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else ()
    near = nearest(expanded(name).name, here)
    return folder / near if near else None


def _cached(name: str) -> ModelFacts | None:
    """Return the facts about a model that was downloaded before; None if it was not, or not whole."""
    folder = cached_folder(name)
    found = LocalModels().find(str(folder)) if folder else None
    whole = found is not None and bool(found.files) and any(each.endswith(WEIGHTS) for each in found.files or ())
    return found if whole else None


def cached_folder(name: str) -> Path | None:
    """Return the folder of a model in the cache of `huggingface_hub`; None if it is not there, or no repository can be called so."""
    if not may_be_repository(name):
        return None
    from huggingface_hub import try_to_load_from_cache

    for file in ("adapter_config.json", "config.json"):
        if isinstance(path := try_to_load_from_cache(name, file), str):
            return Path(path).parent
    return None


def _of_hub(name: str, *, offline: bool, where: str) -> ModelFacts:
    if offline:
        near = _near_folder(name)
        fix = f"there is {near}" if near else "leave out --offline, so that the Hub is asked too"
        raise UsageError(f"no model on this machine is called {name}", where=where, fix=fix)
    from holdfast.adapters import hub

    try:
        facts = hub.open_hub().model(Reference(role="model", name=name, key="model", repo_kind="model"))
    except SourceError as error:
        what = f"{name} is not here, and the Hub could not be asked: {error.what}"
        raise UsageError(what, where=where, fix=error.fix) from None
    if facts.repo is not None and not facts.repo.exists:
        fix = f"there is {some_of(facts.repo.nearest)}" if facts.repo.nearest else "look at its name, and at the token"
        raise UsageError(f"the Hub has no model {name} that you may see", where=where, fix=fix)
    return facts


def _found(name: str, facts: ModelFacts, *, offline: bool, where: str) -> FoundModel:
    """Return a model whose files are known.

    Raises:
        UsageError: It lacks what an evaluation needs.
    """
    files = facts.files or frozenset()
    if facts.problem:
        raise UsageError(f"{name} cannot be loaded: {facts.problem}", where=where, fix="save or download it again")
    if facts.adapter is not None:
        return _adapter(name, facts, files, offline=offline)
    if facts.config is None:
        raise UsageError(f"{name} holds no model: it has no config.json", where=where, fix="name the folder of a model")
    if not any(each.endswith(WEIGHTS) for each in files):
        raise UsageError(f"{name} holds no weights", where=where, fix="save or download the model again")
    if not VOCABULARIES & files:
        fix = "save the tokenizer into the same folder: `tokenizer.save_pretrained(folder)`"
        raise UsageError(f"{name} has no tokenizer", where=where, fix=fix)
    classifies = any(HEAD in str(each) for each in facts.config.get("architectures") or ())
    return FoundModel(
        name=name,
        source=ModelSource(path=name, tokenizer=name, classifies=classifies),
        identity=_identity(name, facts),
        template=facts.chat_template,
        labels=_labels(facts.config) if classifies else (),
    )


def _adapter(name: str, facts: ModelFacts, files: frozenset[str], *, offline: bool) -> FoundModel:
    adapter: Mapping[str, Any] = facts.adapter or {}
    named = str(adapter.get("base_model_name_or_path") or "")
    key = f"{name}/adapter_config.json"
    if not named:
        fix = "add the base's folder or Hub id as `base_model_name_or_path`"
        raise UsageError(f"the adapter {name} does not name its base", where=key, fix=fix)
    beside = expanded(name) / named
    path = str(beside) if not is_there(expanded(named)) and is_there(beside) else named
    try:
        base = _found(path, model_facts(path, offline=offline, where=key), offline=offline, where=key)
    except UsageError as error:
        raise UsageError(f"the base of the adapter {name}: {error.what}", where=key, fix=error.fix) from error
    if base.source.adapter is not None:
        fix = f"merge {path} into its base with `holdfast export`, and name the result in adapter_config.json"
        raise UsageError(f"the base of the adapter {name} is an adapter itself: {path}", where=key, fix=fix)
    tokenizer = name if VOCABULARIES & files else base.source.tokenizer
    classifies = adapter.get("task_type") == CLASSIFIES
    return FoundModel(
        name=name,
        source=ModelSource(
            path=base.source.path,
            adapter=name,
            tokenizer=tokenizer,
            template=None if facts.chat_template else base.template,
            classifies=classifies or base.source.classifies,
        ),
        identity=f"{base.identity} {_identity(name, facts)}",
        template=facts.chat_template or base.template,
        labels=base.labels,
        base=None if classifies else path,
    )


def _labels(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of a head by number, as transformers counts them: two if none are named."""
    names = config.get("id2label") or {
        str(number): f"LABEL_{number}" for number in range(config.get("num_labels") or 2)
    }
    return tuple(str(names[number]) for number in sorted(names, key=int))


def _identity(name: str, facts: ModelFacts) -> str:
    """Return the fingerprint of a model's files: their sizes and times, or the commit of its repository."""
    if facts.repo is not None:
        return f"{facts.repo.name}@{facts.repo.commit}"
    folder = expanded(name) if is_there(expanded(name)) else cached_folder(name)
    if folder is None:
        return name
    stats = {each.name: each.stat() for each in sorted(folder.iterdir()) if each.is_file()}
    return " ".join(f"{each}:{stat.st_size}:{stat.st_mtime_ns}" for each, stat in stats.items())
