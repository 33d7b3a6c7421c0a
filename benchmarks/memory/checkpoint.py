"""A checkpoint folder to load a model from, with no weights in it.

The trainer is given a folder, as a job gives it a repository, so that what loading does to memory is measured too. Its
safetensors file has a true header and a hole for the tensors: it takes no disk and no time, and reads as zeros. Once the
model is loaded, `fill` draws weights in place.
"""

import json
import math
import os
import shutil
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast
from transformers.core_model_loading import revert_weight_conversion

WORDS: Final = 100  # of the made tokenizer, beside its special tokens
SPECIAL: Final = ("<pad>", "<eos>", "<unk>")
STD: Final = 0.02  # of the weights that are drawn


def make_checkpoint(config: Mapping[str, Any], folder: Path) -> Path:
    """Return a folder that a trainer can load the model from; it is made whole, whoever else makes it at the same time."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent))
        write_checkpoint(config, draft)
        try:
            draft.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(draft)
    return folder


def write_checkpoint(config: Mapping[str, Any], folder: Path) -> None:
    """Write the configuration, and the hollow weights of a model that is made without any."""
    fields = dict(config)
    settings = AutoConfig.for_model(fields.pop("model_type"), **fields)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(settings, dtype=torch.bfloat16)
    settings.architectures, settings.dtype = [type(model).__name__], "bfloat16"
    write_hollow_safetensors(stored_shapes(model), folder / "model.safetensors")
    settings.save_pretrained(folder)


def stored_shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """Return the tensors that a checkpoint of the model has, by the names that they have in it."""
    tied = set(model.all_tied_weights_keys)
    own = {name: tensor for name, tensor in model.state_dict().items() if name not in tied}
    return {name: tuple(tensor.shape) for name, tensor in revert_weight_conversion(model, own).items()}


def write_hollow_safetensors(shapes: Mapping[str, tuple[int, ...]], path: Path) -> None:
    """Write the header of bfloat16 tensors; the tensors themselves are a hole that reads as zeros."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(path, 8 + len(text) + end)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer for which a word is a token."""
    vocabulary = {word: place for place, word in enumerate((*SPECIAL, *words(WORDS)))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def words(count: int, first: int = 0) -> list[str]:
    """Return words of the tokenizer, beginning anew after the last."""
    return [f"w{(first + place) % WORDS}" for place in range(count)]


def fill(model: Any) -> None:
    """Draw the weights that were loaded, in place: no memory is taken, and nothing is computed on zeros.

    Adapters stay as PEFT made them.
    """
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" not in name:
                _fill_one(parameter)


def _fill_one(parameter: Any) -> None:
    """Draw a matrix from a normal distribution; what has one dimension scales, and is 1."""
    if hasattr(parameter, "quant_state"):
        _fill_quantized(parameter)
    elif parameter.ndim > 1:
        parameter.normal_(0, STD)
    else:
        parameter.fill_(1)


def _fill_quantized(parameter: Any) -> None:
    """Draw 4-bit weights: each byte holds two, scaled by their block's largest."""
    state = parameter.quant_state
    parameter.data.random_(0, 256)
    scales = state.state2.absmax if state.nested else state.absmax
    scales.fill_(STD)
    if state.nested:
        state.absmax.random_(0, 256)
        state.offset.fill_(STD)
