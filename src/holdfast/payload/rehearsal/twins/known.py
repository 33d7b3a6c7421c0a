"""A model that is known to be good, with its tokenizer: if all goes well with it, it was the model's fault.

It is made in the script's own environment, so that its files are as the releases there write them: a Qwen2 of some 100,000
random weights; a tokenizer of bytes, which has a token for every text; tokens that pad and that end, and those that the usual
chat templates name; a template that takes every role in any order and marks what the assistant says.
`loading` and `paths` of `twins` give it in place of every model, configuration and tokenizer that the script names.
"""

import os
from pathlib import Path
from typing import Any

from ..libraries import tokenizers, torch, transformers

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] or '' }}<|im_end|>\n{% endgeneration %}"
    "{% else %}{{ message['content'] or '' }}<|im_end|>\n{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PAD, END = "<|endoftext|>", "<|im_end|>"
SPECIAL = (PAD, "<|im_start|>", END, "<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>")
NAMED = (
    "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<start_of_turn>",
    "<end_of_turn>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "[INST]", "[/INST]", "<think>", "</think>",
)  # fmt: skip
"""Tokens of other families' templates: settings that name one are not wrong because this model is another."""
LENGTH = 32_768
"""Tokens that fit: rotary positions have no table that would grow with it."""


def make_known_model(folder: Path) -> None:
    """Save the model and its tokenizer, unless another part has; the same weights each time.

    Args:
        folder: Where; it is there whole or not at all.
    """
    if folder.is_dir():
        return
    beside = folder.with_name(f"{folder.name}.{os.getpid()}")
    tokenizer = _make_tokenizer()
    tokenizer.save_pretrained(beside)
    _make_model(tokenizer).save_pretrained(beside)
    try:
        beside.rename(folder)
    except OSError:  # a part beside this one was faster
        if not folder.is_dir():
            raise


def _make_tokenizer() -> Any:
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    pieces = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[])
    )
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = tokenizers.decoders.ByteLevel()
    pieces.add_special_tokens([*SPECIAL, *NAMED])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=pieces, pad_token=PAD, eos_token=END, model_max_length=LENGTH
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _make_model(tokenizer: Any) -> Any:
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return transformers.Qwen2ForCausalLM(config)
