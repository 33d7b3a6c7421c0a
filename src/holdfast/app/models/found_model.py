"""A model whose files are known, with what an evaluation or an export needs of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.evaluation.process import ModelSource
from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.hub.cached import cached_folder
from holdfast.app.models.model_files import WEIGHTS, model_facts
from holdfast.catalog.models.vision import is_vision
from holdfast.core.check.facts import ModelFacts
from holdfast.core.errors import UsageError

VOCABULARIES: Final = frozenset(
    {"tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "spm.model", "tekken.json"}
)
HEAD: Final = "ForSequenceClassification"
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
        run: The folder of the run that saved it; None if that is not known.
        is_final: Whether it is the final model of that run.
    """

    name: str
    source: ModelSource
    identity: str
    template: str | None
    labels: tuple[str, ...] = ()
    base: str | None = None
    trained_on: str | None = None
    run: Path | None = None
    is_final: bool = False

    @property
    def folder(self) -> str:
        """Its own folder: of an adapter, the adapter's."""
        return self.source.adapter or self.source.path


def found_model(name: str, facts: ModelFacts, *, offline: bool, where: str) -> FoundModel:
    """Return a model whose files are known.

    Raises:
        UsageError: It lacks what an evaluation needs.
    """
    if facts.problem:
        raise UsageError(f"{name} cannot be loaded: {facts.problem}", where=where, fix="save or download it again")
    if facts.adapter is not None:
        return _adapter(name, facts, facts.adapter, offline=offline, where=where)
    config = _config_of_whole(name, facts, where)
    classifies = any(HEAD in str(each) for each in config.get("architectures") or ())
    return FoundModel(
        name=name,
        source=ModelSource(path=name, tokenizer=name, classifies=classifies, is_vision=is_vision(config)),
        identity=_identity(name, facts),
        template=facts.chat_template,
        labels=_labels(config) if classifies else (),
    )


def _config_of_whole(name: str, facts: ModelFacts, where: str) -> Mapping[str, Any]:
    """Return the configuration of a model that has all its files.

    Raises:
        UsageError: It has no configuration, no weights or no tokenizer.
    """
    if facts.config is None:
        raise UsageError(f"{name} holds no model: it has no config.json", where=where, fix="name the folder of a model")
    if not any(each.endswith(WEIGHTS) for each in facts.files or ()):
        raise UsageError(f"{name} holds no weights", where=where, fix="save or download the model again")
    if not _has_tokenizer(facts):
        fix = "save the tokenizer into the same folder: `tokenizer.save_pretrained(folder)`"
        raise UsageError(f"{name} has no tokenizer", where=where, fix=fix)
    return facts.config


def _has_tokenizer(facts: ModelFacts) -> bool:
    return not VOCABULARIES.isdisjoint(facts.files or ())


def _adapter(name: str, facts: ModelFacts, adapter: Mapping[str, Any], *, offline: bool, where: str) -> FoundModel:
    if not any(each.endswith(WEIGHTS) for each in facts.files or ()):
        raise UsageError(f"{name} holds no weights", where=where, fix="save or download the adapter again")
    base = _base_of(name, adapter, offline=offline)
    classifies = adapter.get("task_type") == CLASSIFIES
    return FoundModel(
        name=name,
        source=ModelSource(
            path=base.source.path,
            adapter=name,
            tokenizer=name if _has_tokenizer(facts) else base.source.tokenizer,
            template=None if facts.chat_template else base.template,
            classifies=classifies or base.source.classifies,
            is_vision=base.source.is_vision,
        ),
        identity=f"{base.identity} {_identity(name, facts)}",
        template=facts.chat_template or base.template,
        labels=base.labels,
        base=None if classifies else base.name,
    )


def _base_of(name: str, adapter: Mapping[str, Any], *, offline: bool) -> FoundModel:
    """Return the base of an adapter.

    Raises:
        UsageError: It is not named or not there, it lacks something, or it is an adapter itself.
    """
    key = f"{name}/adapter_config.json"
    path = _path_of_base(name, str(adapter.get("base_model_name_or_path") or ""), key)
    try:
        base = found_model(path, model_facts(path, offline=offline, where=key), offline=offline, where=key)
    except UsageError as error:
        raise UsageError(f"the base of the adapter {name}: {error.what}", where=key, fix=error.fix) from error
    if base.source.adapter is not None:
        fix = f"merge {path} into its base with `holdfast export`, and name the result in adapter_config.json"
        raise UsageError(f"the base of the adapter {name} is an adapter itself: {path}", where=key, fix=fix)
    return base


def _path_of_base(name: str, named: str, key: str) -> str:
    """Return the path of a base, or its name on the Hub; a relative path may start in the adapter's folder.

    Raises:
        UsageError: The adapter does not name it.
    """
    if not named:
        fix = "add the base's folder or Hub id as `base_model_name_or_path`"
        raise UsageError(f"the adapter {name} does not name its base", where=key, fix=fix)
    beside = expanded(name) / named
    return str(beside) if not is_there(expanded(named)) and is_there(beside) else named


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
