"""Adapters in their base: the right places, embeddings as large as in training, and tied weights that are no longer the same."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import torch
from peft import PeftConfig, PeftType
from peft.utils import load_peft_weights

from ..whole_weights import load_adapter, refuse_misfit
from .errors import ExportError

EMBEDDINGS = ("embed_tokens", "wte", "lm_head", "embed_in", "embed_out", "word_embeddings")
MATRIX = 2
HEADS = ("score", "classifier", "out_proj")


def fit_embeddings(model: Any, adapters: Sequence[str], vocabulary: int) -> int:
    """Resize the embeddings to those that the adapter was trained with; return the number of added rows."""
    has: int = model.get_input_embeddings().num_embeddings
    trained = max((rows for each in adapters for rows in _embedding_rows(each)), default=0)
    if not trained and vocabulary > has and adapters:
        what = f"the tokenizer has {vocabulary} tokens and the base {has}, and the adapter holds no embeddings of the others"
        raise ExportError("embeddings", what)
    if trained and trained != has:
        model.resize_token_embeddings(trained, mean_resizing=False)
    return max(0, trained - has)


def _embedding_rows(adapter: str) -> Iterator[int]:
    """Yield how many rows the embeddings have that an adapter brings whole."""
    for name, tensor in load_peft_weights(adapter, device="cpu").items():
        if tensor.ndim == MATRIX and name.rpartition(".weight")[0].endswith(EMBEDDINGS):
            yield tensor.shape[0]


def add_adapters(model: Any, adapters: Sequence[str]) -> Any:
    """Return the base with all adapters active."""
    configs = [PeftConfig.from_pretrained(each) for each in adapters]
    kinds = _kinds_that_merge(configs)
    untie_where_adapted(model, configs)
    names = adapter_names(adapters)
    found = load_adapter(model, adapters[0], names[0])
    if not hasattr(found, "merge_and_unload"):
        raise ExportError("unmergeable", f"an adapter of type {kinds[0]} has no weights to merge")
    for name, each in zip(names[1:], adapters[1:], strict=True):
        refuse_misfit(found.load_adapter(each, adapter_name=name))
    found.base_model.set_adapter(names if len(names) > 1 else names[0])
    return found.eval()


def _kinds_that_merge(configs: Sequence[Any]) -> list[str]:
    """Return the types of adapters; raise if there are several of other types than LoRA."""
    kinds = sorted({PeftType(each.peft_type).value for each in configs})
    if len(configs) > 1 and kinds != ["LORA"]:
        raise ExportError("several", f"adapters of type {', '.join(kinds)} cannot be merged together")
    return kinds


def adapter_names(adapters: Sequence[str]) -> list[str]:
    """Return the names by which peft knows the adapters."""
    return [f"adapter{number}" if number else "default" for number in range(len(adapters))]


def untie_where_adapted(model: Any, configs: Sequence[Any]) -> None:
    """Give the output layer weights of its own if an adapter changes it, or the embeddings, alone."""
    ends = {name.rpartition(".")[2] for name, each in model.named_modules() if each in _ends(model)}
    named = {each for config in configs for each in _named(config)}
    if is_tied(model) and ends & named:
        head = model.get_output_embeddings()
        head.weight = torch.nn.Parameter(head.weight.detach().clone())
        set_tied(model, tied=False)


def _ends(model: Any) -> list[Any]:
    return [each for each in (model.get_input_embeddings(), model.get_output_embeddings()) if each is not None]


def _named(config: Any) -> Iterator[str]:
    for field in ("target_modules", "modules_to_save"):
        names = getattr(config, field, None) or ()
        yield from (each.rpartition(".")[2] for each in ([names] if isinstance(names, str) else names))


def is_tied(model: Any) -> bool:
    """Whether the output layer has the weights of the embeddings."""
    ends = model.get_input_embeddings(), model.get_output_embeddings()
    weights = [getattr(each, "weight", None) for each in ends]
    return weights[0] is not None and weights[1] is not None and weights[0].data_ptr() == weights[1].data_ptr()


def set_tied(model: Any, *, tied: bool) -> None:
    """Have the configuration say whether the ends are tied."""
    for config in {id(each): each for each in (model.config, model.config.get_text_config())}.values():
        config.tie_word_embeddings = tied


def labels_of(adapter: str) -> int:
    """Return the number of outputs of the head that an adapter brings."""
    with suppress(OSError, ValueError):
        for name, tensor in load_peft_weights(adapter, device="cpu").items():
            if tensor.ndim == MATRIX and name.rpartition(".weight")[0].endswith(HEADS):
                return int(tensor.shape[0])
    return 2
