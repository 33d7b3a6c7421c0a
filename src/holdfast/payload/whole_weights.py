"""Models and adapters with all of their weights: of those that are missing or have no place, the libraries only warn, and go on."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

SHOWN: Final = 3
LAYER: Final = re.compile(r"(.+?\.)(\d+)\.")
"""A stack of layers, and the number of one, at the beginning of the name of a weight."""


ORDINARY: Final = "The sea is blue, and the sky is, too."


class WeightsError(Exception):
    """The files of a model or of an adapter do not hold the weights that they should.

    Attributes:
        kind: `damaged`, or `adapter` if that does not fit its base.
    """

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind


def load_whole(kind: Any, path: Any, *, name: str, has_new_head: bool = False, **more: Any) -> Any:
    """Load a model.

    Args:
        kind: The class of transformers.
        path: Its folder or Hub id.
        name: What it is called in errors.
        has_new_head: An adapter brings the head, so that weights may be missing.
        more: What `from_pretrained` takes.

    Raises:
        WeightsError: A weight is missing, or has another shape than the configuration says; or there are layers that it does not count.
    """
    model, found = kind.from_pretrained(path, output_loading_info=True, ignore_mismatched_sizes=True, **more)
    if faults := list(_faults(model, found, has_new_head=has_new_head)):
        raise WeightsError("damaged", f"{name} {'; '.join(faults)}")
    return model


def _faults(model: Any, found: Mapping[str, Any], *, has_new_head: bool) -> Iterator[str]:
    if (missing := found["missing_keys"]) and not has_new_head:
        yield f"lacks {len(missing)} weights: {_some(missing)}"
    if mismatched := found["mismatched_keys"]:
        shapes = {f"{key} {[*stored]} instead of {[*due]}" for key, stored, due in mismatched}
        yield f"has {len(shapes)} weights of other shapes than config.json says: {_some(shapes)}"
    if layers := _uncounted(model, found["unexpected_keys"]):
        yield f"has layers that config.json does not count: {_some(layers)}"
    if biases := _untaken_biases(model, found["unexpected_keys"]):
        yield f"has biases that the architecture of config.json does not add: {_some(biases)}"


def _uncounted(model: Any, unexpected: Iterable[str]) -> set[str]:
    """The layers of a stack that are more than the model has. Those that predict further tokens are left out on purpose."""
    if getattr(model.config.get_text_config(), "num_nextn_predict_layers", 0):
        return set()
    own = {each.groups() for each in map(LAYER.match, model.state_dict()) if each}
    more = {each.groups() for each in map(LAYER.match, unexpected) if each} - own
    return {f"{stack}{number}" for stack, number in more if (stack, "0") in own}


def _untaken_biases(model: Any, unexpected: Iterable[str]) -> set[str]:
    """The biases of layers that the model has without any."""
    own = model.state_dict()
    return {key for key in unexpected if key.endswith(".bias") and f"{key.removesuffix('bias')}weight" in own}


def refuse_unknown_tokens(tokenizer: Any, model: Any) -> None:
    """Check that a model has the tokens of an ordinary text.

    Raises:
        WeightsError: It lacks one.
    """
    has, largest = len(model.get_input_embeddings().weight), max(tokenizer(ORDINARY)["input_ids"], default=0)
    if largest >= has:
        what = f"the tokenizer is that of another model: it gives the token {largest} for {ORDINARY!r}, and the model has {has} tokens"
        raise WeightsError("damaged", what)


def load_adapter(model: Any, adapter: str, name: str = "default") -> Any:
    """Load an adapter into its base.

    Raises:
        WeightsError: As `refuse_misfit`.
    """
    from peft import PeftModel  # which models without adapters need not

    adapted: Any = PeftModel.from_pretrained(model, adapter, adapter_name=name)
    loaded = adapted.load_adapter(adapter, adapter_name=name)  # which alone tells what had no place
    if not adapted.peft_config[name].is_prompt_learning:  # of its tensors it tells that they have none
        refuse_misfit(loaded)
    return adapted


def refuse_misfit(loaded: Any) -> None:
    """Check what peft says of an adapter that it has loaded.

    Raises:
        WeightsError: A tensor has no place in the base, or is missing.
    """
    if lost := loaded.unexpected_keys:
        raise WeightsError("adapter", f"{len(lost)} of its tensors have no place in the base: {_some(lost)}")
    if missing := loaded.missing_keys:
        raise WeightsError("adapter", f"{len(missing)} of its tensors are missing: {_some(missing)}")


def _some(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:SHOWN])
