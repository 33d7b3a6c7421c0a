"""Adapters that were saved: whether they are what was trained, and whether merging keeps what the model says."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..libraries import peft, safetensors, torch, transformers
from ..part_request import PartRequest

FILE = "adapter_model.safetensors"
LEAST = 1e-5
"""A weight of an adapter below which it may leave no trace in a merged model's few bits."""
SEEN = 1e-4
"""How far apart numbers of a model with and without its adapter must be to tell them by."""
KEEP = "Save the adapter before it is merged, or save the model that `merge_and_unload()` returns."
MERGED = "Save what `merge_and_unload()` returns; `unload()` takes the adapter away."
LORA = "lora_"
"""What names of an adapter's weights have in them."""
EMBEDDED = re.compile(r"embed|wte|lm_head")
"""A weight that `save_embedding_layers` may save with an adapter."""
APART = re.compile(r"merge_and_unload|get_base_model|unload\(|torch\.save\(|state_dict|\.base_model\b")
"""How a script's text looks that may save the base by itself."""
MERGES = re.compile(r"\bmerge_and_unload\b")
TAKES_OFF = re.compile(rf"{MERGES.pattern}|\.unload\(")
"""How a script's text looks that merges an adapter, or takes it off."""
PLAIN = re.compile(r"\.lora_[AB]\.")
"""A weight of plain LoRA."""
LABELLED = {"SEQ_CLS": "AutoModelForSequenceClassification", "TOKEN_CLS": "AutoModelForTokenClassification"}
"""Tasks whose models have a head with a row for each label."""
CAUSAL = "AutoModelForCausalLM"
WRITES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
"""How classes of models that write texts end."""
HEAD = re.compile(r"\b(score|classifier)\b.*\bweight$")


def look(
    final: Sequence[Path], trainings: Sequence[Mapping[str, Any]], part_request: PartRequest, events: EventWriter
) -> None:
    """Report adapters without tensors or without training, and merged models without their adapter.

    Args:
        final: Folders of what was saved at the end.
        trainings: The fact about each training; `adapter` is the largest weight of it that began as 0, if it has one.
        part_request: Has the script's text.
        events: Receives the report.
    """
    adapters = [each for each in final if trainings and (each / FILE).is_file()]
    learnt = [each for each in trainings if _has_learnt(each)]
    if not _report_empty(adapters, events) and learnt:
        _report_untrained(adapters, events)
        _report_bases(_copies_of_base(final, learnt), part_request.source, events, is_alone=not adapters)


def _has_learnt(training: Mapping[str, Any]) -> bool:
    return (training.get("adapter") or 0.0) > LEAST


def _report_empty(adapters: Sequence[Path], events: EventWriter) -> bool:
    """Report the first adapter that holds no tensor; return whether there is one."""
    empty = next((each for each in adapters if not _tensors(each)), None)
    if empty is None:
        return False
    because = f"the adapter in {empty.name} holds no tensor: nothing of what was trained is in it"
    events.fault("no-checkpoint-saved", "save", because, fix=KEEP)
    return True


def _report_untrained(adapters: Sequence[Path], events: EventWriter) -> None:
    if adapters and not any(map(_largest, adapters)):
        because = f"the adapter in {adapters[0].name} is what it was before the training: all of its `lora_B` are 0"
        events.fault("no-checkpoint-saved", "save", because, fix="Save the adapter after the training, and not before.")


def _report_bases(folders: Iterable[Path], source: str, events: EventWriter, *, is_alone: bool) -> None:
    """Report copies of the base where a script takes the adapter off; beside a saved adapter, one may be wanted."""
    if not TAKES_OFF.search(source):
        return
    is_sure = is_alone or MERGES.search(source)
    for folder in folders:
        because = f"the model in {folder.name} is the base model: what the adapter learned is not in it"
        if is_sure:
            events.fault("user-code-error", "export", because, fix=MERGED)
        else:
            events.warning("user-code-error", "export", f"{because}. {MERGED}")


def _copies_of_base(final: Sequence[Path], trainings: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    """Yield the folders of whole models that are the base of one of the trainings."""
    bases = {str(each.get("base") or "") for each in trainings}
    for folder in final:
        if (folder / "config.json").is_file() and any(_is_base(folder, base) for base in bases):
            yield folder


def look_for_whole(folders: Sequence[Path], trainings: Sequence[Mapping[str, Any]], events: EventWriter) -> None:
    """Report a whole model that was trained, of which nothing but an adapter was saved that is as it began.

    Args:
        folders: Everything that was saved: models and adapters.
        trainings: The fact about each training.
        events: Receives the report.
    """
    if not folders or any(each.get("adapter") is not None for each in trainings):
        return
    if all((each / FILE).is_file() and not _largest(each) for each in folders):
        because = (
            f"the adapter in {folders[0].name} was not trained, for all of its `lora_B` are 0: the training changed the "
            "weights of the model itself, which are not saved"
        )
        fix = "Make the adapter before the trainer (`peft_config`, or `get_peft_model`) so that it is trained, or save the whole model."
        events.fault("no-checkpoint-saved", "save", because, fix=fix)


def look_at_frozen(model: Any, part_request: PartRequest, events: EventWriter) -> None:
    """Report an adapter that is about to be saved, and is frozen while weights of its base are trained: they are not saved with it.

    Args:
        model: A `PeftModel`.
        part_request: Has the script's text.
        events: Receives the report.
    """
    lost = _unsaved_weights(model) if _has_frozen_adapter(model) else []
    if not lost:
        return
    because = f"the adapter is frozen, and {len(lost)} weights of its base are trained, `{lost[0]}` for one: `save_pretrained` writes the adapter alone"
    if APART.search(part_request.source):
        events.warning("no-checkpoint-saved", "save", because)
    else:
        fix = "Train the adapter: leave `requires_grad` as `get_peft_model` sets it. To train the whole model, do without an adapter."
        events.fault("no-checkpoint-saved", "save", because, fix=fix, unsaved=len(lost))


def _has_frozen_adapter(model: Any) -> bool:
    adapter = [each for name, each in model.named_parameters() if LORA in name]
    return bool(adapter) and not any(each.requires_grad for each in adapter)


def _unsaved_weights(model: Any) -> list[str]:
    """Return the names of the weights that are trained, and are not saved with the adapter."""
    kept = {each.data_ptr() for each in peft.get_peft_model_state_dict(model).values()}
    trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
    return [name for name, each in trained.items() if each.data_ptr() not in kept and not EMBEDDED.search(name)]


def is_for_another_task(folder: Path, trained: Mapping[str, Any], events: EventWriter) -> bool:
    """True if an adapter of a language model says that it is one of a classifier, and tell of it: it holds no head.

    Args:
        folder: What was saved.
        trained: The fact about the last training; `model` is the class of what was trained.
        events: Receives the report.
    """
    if not (folder / FILE).is_file() or not str(trained["model"]).endswith(WRITES):
        return False
    task = peft.PeftConfig.from_pretrained(str(folder)).task_type
    name = getattr(task, "value", task)
    if name not in LABELLED:
        return False
    because = (
        f"the adapter in {folder.name} has `task_type={name}`, and {trained['model']} was trained with it: whoever loads it by "
        "its task gets a classifier, whose head it lacks"
    )
    fix = 'Give LoraConfig `task_type="CAUSAL_LM"`, or train a classifier.'
    events.fault("merged-config-architecture-wrong", "export", because, fix=fix)
    return True


def merge(folder: Path, events: EventWriter) -> Any:
    """Return a model that an adapter was merged into; tell where it says something else then."""
    config = peft.PeftConfig.from_pretrained(str(folder))
    task = getattr(config.task_type, "value", config.task_type)
    base = _base_class(config, {**LABELLED, "SEQ_2_SEQ_LM": "AutoModelForSeq2SeqLM"}.get(task, CAUSAL))
    labelled = task in LABELLED or base.__name__.endswith("Classification")
    more = {"num_labels": _labels(folder)} if labelled else {}
    below = base.from_pretrained(config.base_model_name_or_path, **more)
    if rows := _embedded(below, folder):
        below.resize_token_embeddings(rows)  # as the script did, and whoever loads the adapter has to
    model = peft.PeftModel.from_pretrained(below, str(folder))
    if not hasattr(model, "merge_and_unload"):
        events.not_rehearsed("merging the adapter", f"{config.peft_type} adapters are not merged")
        return model
    before = _says(model.float().eval())
    with model.disable_adapter():
        without = _says(model)
    merged = model.merge_and_unload()
    _compare(without, before, _says(merged.eval()), folder, events)
    return merged


def _base_class(config: Any, name: str) -> Any:
    """Return the class that an adapter's base is loaded with: the one that it was put on, or the one that its task has.

    Args:
        config: Of the adapter; its `auto_mapping` names a class where it has no task.
        name: The automatic class of the task; another is taken where it does not know the base.
    """
    put_on = getattr(transformers, (config.auto_mapping or {}).get("base_model_class", ""), None)
    if hasattr(put_on, "from_pretrained"):
        return put_on
    kind = getattr(transformers, name)
    below = transformers.AutoConfig.from_pretrained(config.base_model_name_or_path)
    if type(below) in kind._model_mapping:
        return kind
    return getattr(transformers, (below.architectures or [""])[0], kind)


def _labels(folder: Path) -> int:
    """Return the number of labels of the head that was saved with an adapter: one where none was."""
    heads = {key: each.shape[0] for key, each in _read(folder / FILE) if HEAD.search(key) and ".lora_" not in key}
    return int(heads[max(heads)]) if heads else 1  # `out_proj` comes after `dense`


def _embedded(model: Any, folder: Path) -> int | None:
    """Return the number of tokens whose embeddings an adapter was saved with; None if it has none of its own."""
    name = next((name for name, each in model.named_modules() if each is model.get_input_embeddings()), None)
    if name is None or not (folder / FILE).is_file():
        return None
    own = (each.shape[0] for key, each in _read(folder / FILE) if key.endswith(f".{name}.weight"))
    return next(own, None)


def _compare(without: Any, before: Any, merged: Any, folder: Path, events: EventWriter) -> None:
    """Report a merged model that is further from the adapted one than half of what the adapter does."""
    if before is None or merged is None or without is None or before.shape != merged.shape:
        return
    does, lost = float((before - without).abs().max()), float((before - merged).abs().max())
    if does > SEEN and lost > does / 2:
        because = (
            f"merged, the model of {folder.name} says something else than with its adapter: {lost:.2g} of {does:.2g}"
        )
        fix = "Merge in the type that the adapter was trained in, and save what `merge_and_unload()` returns."
        events.fault("user-code-error", "export", because, fix=fix)


def _says(model: Any) -> Any:
    """Return the logits of a few tokens; None of a model that takes more than tokens."""
    try:
        with torch.no_grad():
            return model(input_ids=torch.arange(1, 9).unsqueeze(0)).logits
    except (TypeError, ValueError, AttributeError):
        return None


def largest_moved(model: Any) -> float | None:
    """Return the largest weight of an adapter that begins as 0; None if there is none."""
    ends = [float(each.detach().abs().max()) for name, each in model.named_parameters() if ".lora_B." in name]
    return max(ends, default=None)


def lora_of(model: Any) -> dict[str, Any] | None:
    """Return rank, modules and type of the plain LoRA that is trained; None if it is something else, or more."""
    config = _plain_config(model)
    trained = {name: each.dtype for name, each in model.named_parameters() if each.requires_grad}
    kinds = set(trained.values())
    if config is None or len(kinds) != 1 or not all(map(PLAIN.search, trained)):
        return None
    modules = {name.partition(".lora_")[0].rpartition(".")[2] for name in trained}
    return {"r": config.r, "modules": sorted(modules), "dtype": str(kinds.pop()).removeprefix("torch.")}


def _plain_config(model: Any) -> Any:
    """Return the configuration of a model's only adapter, if that is plain LoRA; else None."""
    configs: dict[str, Any] = getattr(model, "peft_config", None) or {}
    config: Any = next(iter(configs.values()), None)
    plain = len(configs) == 1 and not getattr(config, "rank_pattern", None) and not getattr(config, "use_dora", False)
    return config if plain else None


def _tensors(folder: Path) -> int:
    with safetensors.safe_open(str(folder / FILE), framework="pt") as file:
        return len(file.keys())


def _largest(folder: Path) -> float:
    """Return the largest weight that begins as 0; 1 where it has none of that kind."""
    found = [float(each.abs().max()) for name, each in _read(folder / FILE) if ".lora_B." in name]
    return max(found, default=1.0)


def _is_base(folder: Path, base: str) -> bool:
    """True if all weights of a model are the base model's, bit for bit."""
    weights = dict(_weights(folder)) if base else {}
    if not weights:
        return False
    own = transformers.AutoModelForCausalLM.from_pretrained(base).state_dict()
    halved = any(each.dtype == torch.float16 for each in weights.values())
    return not halved and all(_is_same(each, own.get(name)) for name, each in weights.items())


def _is_same(weight: Any, theirs: Any) -> bool:
    return theirs is not None and bool(torch.equal(weight, theirs.to(weight.dtype)))


def _weights(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a model's weights."""
    for file in sorted(folder.glob("*.safetensors")):
        yield from _read(file)


def _read(file: Path) -> Iterator[tuple[str, Any]]:
    yield from import_module("safetensors.torch").load_file(str(file)).items()
