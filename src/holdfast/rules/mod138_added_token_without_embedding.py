"""Token added to the tokenizer without resizing the model's embedding.

## What it does
Checks for `add_special_tokens({"pad_token": …})`, `add_special_tokens` and `add_tokens` of the trainer's tokenizer,
if the model is not resized. Compares the first free id of the tokenizer, as far as `tokenizer_config.json` gives it,
with the model's `vocab_size`: many models have spare rows, and are not reported. A padding token is an error, because
the first batch with rows of different lengths contains it; any other token is a warning, because the data may not
contain it.

## Why is this bad
The model raises IndexError at the first batch that contains the token; on a GPU, `device-side assert triggered`.

## Fix safety
There is no automatic fix. Load the model, and call `model.resize_token_embeddings(len(tokenizer))`. For padding, an
existing token of the model works: trl masks padding by its position.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.models.base_models import base_of
from holdfast.catalog.models.chat_templates import token_text
from holdfast.catalog.models.vocabulary import pads_batches, vocabulary_size
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import PROGRAMS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document

ADDING: Final = ("add_special_tokens", "add_tokens")
METHODS: Final = ("sft", "dpo", "kto", "reward")
PAD: Final = "pad_token"
RESIZES: Final = re.compile(
    r"resize_token_embeddings|add_new_tokens|setup_chat_format|clone_chat_template|trainable_token"
)
NUMBER: Final = re.compile(r"[0-9]{1,9}")
SPECIAL: Final = re.compile(r"<(?!0x)[^<>]*[A-Za-z]{2}[^<>]*>|\[[A-Za-z_]{2,}\]")
"""The form of a text that no vocabulary has unless it was added; any other may be among its words."""


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report each added token for which the model has no embedding."""
    base, trainer = base_of(job, model), job.call("trainer")
    size = vocabulary_size(model.config or {})
    if (
        base is None
        or trainer is None
        or size is None
        or RESIZES.search(job.text)
        or job.get("method", None) not in METHODS
    ):
        return
    for call in job.calls:
        if _is_adding(job, call, trainer, base.name):
            yield from _beyond(job, api, call, model, size)


def _is_adding(job: Document, call: Call, trainer: Call, name: str) -> bool:
    return call.name in ADDING and _is_given(job, call, trainer, name) and not call.guard.because


def _beyond(job: Document, api: Api, call: Call, model: ModelFacts, size: int) -> Iterator[Finding]:
    """Yield the first of the tokens that a call adds beyond the embedding."""
    tokenizer = model.tokenizer or {}
    if _first_free(tokenizer) < size:
        return
    for name, new in islice(_added(call, _known_texts(tokenizer)), 1):
        pads = name == PAD and job.get(f"train.{PAD}", None) is None and pads_batches(job, api)
        fault = (
            f"the model has {size} tokens, and none for `{new}`: call `model.resize_token_embeddings(len(tokenizer))`"
        )
        yield Finding(call.key, fault, place=call.name_place, severity=None if pads else Severity.WARNING)


def _added(call: Call, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts that a call surely adds, each with the name of the special token that it is to be."""
    given = next(iter(call.positional), next(iter(call.arguments.values()), None))
    named: Mapping[str, Any] = given if isinstance(given, Mapping) else {"": given}
    for name, value in named.items():
        texts = value if isinstance(value, list | tuple) else [value]
        yield from ((name, each) for each in texts if _is_new(each, known))


def _is_new(text: Any, known: frozenset[str]) -> bool:
    return isinstance(text, str) and SPECIAL.fullmatch(text) is not None and text not in known


def _is_given(job: Document, call: Call, trainer: Call, name: str) -> bool:
    """True if a method is called on the tokenizer of the model, which the trainer is given."""
    given = trainer.arguments.get("processing_class", trainer.arguments.get("tokenizer"))
    loader = job.call(call.receiver.key) if call.receiver else None
    same = isinstance(given, CallResult) and call.receiver is not None and given.key == call.receiver.key
    return same and loader is not None and next(iter(loader.positional), None) == name


def _first_free(tokenizer: Mapping[str, Any]) -> int:
    """Return the id that the next added token gets, or a lower one.

    Raises:
        MissingFactError: `tokenizer_config.json` has no ids, as transformers 5 writes it.
    """
    added = tokenizer.get("added_tokens_decoder")
    numbers = [int(each) for each in added if NUMBER.fullmatch(str(each))] if isinstance(added, Mapping) else []
    if not numbers:
        raise MissingFactError("tokenizer", "its `tokenizer_config.json` does not say which ids its tokens have")
    return max(numbers) + 1


def _known_texts(tokenizer: Mapping[str, Any]) -> frozenset[str]:
    added = tokenizer.get("added_tokens_decoder")
    return frozenset(filter(None, map(token_text, added.values()))) if isinstance(added, Mapping) else frozenset()


SCRIPT = """from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

tokenizer = AutoTokenizer.from_pretrained("acme/full")
tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
model = AutoModelForCausalLM.from_pretrained("acme/full")
model.resize_token_embeddings(len(tokenizer))
trainer = SFTTrainer(model, args=SFTConfig(output_dir="out"), train_dataset=rows, processing_class=tokenizer)
"""
BAD = SCRIPT.replace("model.resize_token_embeddings(len(tokenizer))\n", "")


def _facts(size: int) -> dict[str, object]:
    tokenizer = {"added_tokens_decoder": {"2": {"content": "</s>"}, "31999": {"content": "<|end|>"}}}
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": size}
    return {
        "model": ModelFacts(
            files=frozenset({"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}),
            config=config,
            tokenizer=tokenizer,
        )
    }


RULE = Rule(
    code="MOD138",
    name="added-token-without-embedding",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="Tried with trl 1.16, transformers 5.23 and a tiny model: a `pad_token` that is added and not resized for raises IndexError with sft.",
    bad=(
        Case(script=BAD, facts=_facts(32000), at="calls.1"),
        Case(
            script=BAD.replace('special_tokens({"pad_token": "<|pad|>"})', 'tokens(["<tool>"])'),
            facts=_facts(32000),
            at="calls.1",
        ),
    ),
    good=(
        Case(script=SCRIPT, facts=_facts(32000)),
        Case(script=BAD, facts=_facts(32064)),
        Case(script=BAD.replace("<|pad|>", "<|end|>"), facts=_facts(32000)),
        Case(script=BAD.replace(", processing_class=tokenizer", ""), facts=_facts(32000)),
    ),
    kinds=PROGRAMS,
)
