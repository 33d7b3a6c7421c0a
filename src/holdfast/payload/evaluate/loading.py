"""Loading the model and its tokenizer."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import torch
import transformers

from ..whole_weights import load_adapter, load_whole, refuse_unknown_tokens
from .work_request import ModelRequest

LIBRARIES = ("torch", "transformers")
SOME_POSITIONS = 1 << 30
"""Tokenizers that know no limit say a number that is larger."""


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready.

    Attributes:
        model: The model, in evaluation mode.
        tokenizer: Its tokenizer, with a padding token.
        device: Where it is.
        positions: The most tokens that it can read.
        processor: What reads the rows of a vision-language model; None for a model of texts.
        libraries: The packages that its outputs depend on.
    """

    model: Any
    tokenizer: Any
    device: torch.device
    positions: int
    processor: Any = None
    libraries: Sequence[str] = LIBRARIES

    def describe(self) -> dict[str, Any]:
        """Return what is worth knowing about it."""
        template = self.tokenizer.chat_template
        return {
            "device": torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else self.device.type,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "template": hashlib.sha256(str(template).encode()).hexdigest() if template else "",
            "versions": {name: version(name) for name in self.libraries},
        }


def load_model(request: ModelRequest) -> LoadedModel:
    """Load the model, its adapter and its tokenizer."""
    tokenizer, processor = _load_tokenizer(request)
    if not tokenizer.chat_template and request.template:
        tokenizer.chat_template = request.template
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    brings_head = request.classifies and request.adapter is not None
    model = load_whole(_kind(request), request.path, name=request.path, has_new_head=brings_head, dtype="auto")
    if request.adapter is not None:
        model = _with_adapter(model, request.adapter, len(tokenizer))
    refuse_unknown_tokens(tokenizer, model)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(device).eval()
    model.config.pad_token_id = tokenizer.pad_token_id
    return LoadedModel(model, tokenizer, device, _positions(model.config, tokenizer), processor)


def _kind(request: ModelRequest) -> Any:
    """Return the class that loads the model."""
    if request.classifies:
        return transformers.AutoModelForSequenceClassification
    return transformers.AutoModelForImageTextToText if request.is_vision else transformers.AutoModelForCausalLM


def _load_tokenizer(request: ModelRequest) -> tuple[Any, Any]:
    """Return the tokenizer, and the processor that it belongs to; None for a model of texts."""
    if not request.is_vision:
        return transformers.AutoTokenizer.from_pretrained(request.tokenizer, padding_side="left"), None
    processor = transformers.AutoProcessor.from_pretrained(request.tokenizer, padding_side="left")
    tokenizer = processor.tokenizer
    tokenizer.chat_template = processor.chat_template or tokenizer.chat_template
    return tokenizer, processor


def _with_adapter(model: Any, adapter: str, vocabulary: int) -> Any:
    """Return a model with an adapter, and with embeddings for tokens that its training added."""
    if vocabulary > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(vocabulary)
    return load_adapter(model, adapter)


def _positions(config: Any, tokenizer: Any) -> int:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    known = getattr(text, "max_position_embeddings", None) or SOME_POSITIONS
    return min(known, tokenizer.model_max_length or SOME_POSITIONS)
