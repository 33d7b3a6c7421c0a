"""What is exported: a whole model, or adapters with the base that they were trained on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.app.arguments import PathName, as_path
from holdfast.app.models.finding import find_model
from holdfast.app.models.found_model import FoundModel
from holdfast.app.models.model_files import model_facts
from holdfast.core.errors import HoldfastError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSource:
    """What is exported.

    Attributes:
        name: The model, as it was named.
        found: The model, with its tokenizer and its template.
        adapters: The adapters, in the order in which they are merged.
        base: The base of the adapters; None if there are none.
        base_chosen: Whether it was named with `--base`.
        revision: The revision of the base; None for the newest.
        config: The configuration of the base, or of the whole model.
        notes: What is worth knowing of it.
    """

    name: str
    found: FoundModel
    adapters: tuple[str, ...]
    base: str | None
    base_chosen: bool
    revision: str | None
    config: Mapping[str, Any]
    notes: tuple[str, ...]

    def as_classifier(self) -> "ExportSource":
        """Return it with a head that classifies, as training will leave it."""
        return replace(self, found=replace(self.found, source=replace(self.found.source, classifies=True)))


def find_source(
    name: str, *, base: PathName | None, more: Sequence[str], runs: PathName | None, offline: bool
) -> ExportSource:
    """Return what is exported; nothing is loaded.

    Args:
        name: The model.
        base: The base to merge into, in place of the one that the adapter names.
        more: Further adapters of the same base.
        runs: The runs folder.
        offline: Don't contact the Hub.

    Raises:
        UsageError: There is none of that name, or it cannot be exported.
    """
    _refuse_gguf(name)
    original = find_model(name, runs=runs, offline=offline)
    adapters = tuple(each for each in (original.source.adapter, *more) if each)
    if base is not None and not adapters:
        what = "--base has no effect: the model is not an adapter"
        raise UsageError(what, where="--base", fix="leave it out, or name an adapter")
    found = _with_base(original, base, runs=runs, offline=offline)
    path = found.source.path
    facts = model_facts(path, offline=offline, where="the base")
    source = ExportSource(
        name=found.name,
        found=found,
        adapters=adapters,
        base=path if adapters else None,
        base_chosen=base is not None,
        revision=_revision(path, adapters, offline=offline) if base is None else None,
        config=facts.config or {},
        notes=tuple(_notes(original.source.path, path, found)),
    )
    _refuse_unsuited(source, offline=offline)
    return source


def _refuse_gguf(name: str) -> None:
    if name.lower().endswith(".gguf"):
        what = f"{name} is a GGUF file, which cannot be exported"
        raise UsageError(what, where="MODEL", fix="name the folder that it was converted from")


def _with_base(found: FoundModel, base: PathName | None, *, runs: PathName | None, offline: bool) -> FoundModel:
    """Return the model of an adapter with the base that is named for it, if one is; the adapter's own template counts."""
    if base is None:
        return found
    other = find_model(as_path(base), runs=runs, offline=offline, where="--base")
    source = replace(found.source, path=other.source.path)
    return replace(found, source=source, template=found.template or other.template)


def _refuse_unsuited(source: ExportSource, *, offline: bool) -> None:
    """Raise the first reason why a source cannot be exported."""
    errors = [*_problems(source), *_foreign(source.adapters[1:], source.adapters[:1], offline=offline)]
    if errors:
        raise errors[0]


def _problems(source: ExportSource) -> Iterator[HoldfastError]:
    """Yield why a source cannot be exported."""
    path = source.found.source.path
    stored = source.config.get("quantization_config")
    if stored:
        method = stored.get("quant_method") if isinstance(stored, Mapping) else None
        state = f"stored quantized ({method or 'as its config.json says'})"
        if source.adapters:
            what = f"the base {path} is {state}: merging into rounded weights makes another model than was trained"
            yield UsageError(
                what, where=f"{path}/config.json", fix="name the model that it was quantized from with --base"
            )
        else:
            fix = "name the model that it was quantized from"
            yield UsageError(f"{path} is {state}", where=f"{path}/config.json", fix=fix)


def _foreign(more: Sequence[str], first: Sequence[str], *, offline: bool) -> Iterator[HoldfastError]:
    """Yield which further adapters are none, or are for another base than the first."""
    for each in more:
        facts = model_facts(each, offline=offline, where="--adapter")
        if facts.adapter is None:
            yield UsageError(f"{each} is not an adapter", where="--adapter", fix="name the folder of an adapter")
            continue
        own, other = (_base_named(name, offline=offline) for name in (first[0], each)) if first else ("", "")
        if own != other:
            what = f"the adapter {each} was trained on {other}, and {first[0]} on {own}"
            yield UsageError(what, where="--adapter", fix="merge only adapters of the same base")


def _base_named(adapter: str, *, offline: bool) -> str:
    base = str((model_facts(adapter, offline=offline, where="--adapter").adapter or {}).get("base_model_name_or_path"))
    return str(expanded(base).resolve()) if is_there(expanded(base)) else base


def _revision(path: str, adapters: Sequence[str], *, offline: bool) -> str | None:
    """Return the revision of a base on the Hub that an adapter was trained on; None if it does not say."""
    if not adapters or is_there(expanded(path)):
        return None
    revision = (model_facts(adapters[0], offline=offline, where="MODEL").adapter or {}).get("revision")
    return revision if isinstance(revision, str) and revision else None


def _notes(named: str, path: str, found: FoundModel) -> Iterator[str]:
    if path != named and Path(path).name != Path(named).name:
        yield f"merged into {path}, as --base says; the adapter names {named}"
    if found.template is None:
        yield "there is no chat template: a server of the model needs one from elsewhere"
