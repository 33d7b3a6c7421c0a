"""A chat model made on the spot: Qwen2's architecture with three million random weights.

Its tokenizer is Qwen2's own pipeline, trained on the texts it is given. One version of Python and of the libraries
gives the same tokenizer and the same weights on every machine. Made once, then taken from the cache.
"""

import platform
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

VERSION = 2
"""Goes up when what is made here changes, so that a cache never serves an older one."""
VOCABULARY = 2048
END_OF_TURN, PADDING = "<|im_end|>", "<|endoftext|>"
CONTEXT_TOKENS = 1024
LAYERS = 6
SEED = 0

CHAT_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\\n' }}
{%- if message['role'] == 'assistant' %}
{%- generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}
{%- else %}
{{- message['content'] + '<|im_end|>' }}
{%- endif %}
{{- '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
"""ChatML; the generation markers tell `assistant_only_loss` what the model itself says."""


def make(cache: Path, texts: Iterable[str]) -> Path:
    """Return the model's folder, made if it is not there yet.

    Several processes may ask at once: each makes its own beside the place, the first to finish moves it there.

    Args:
        cache: Folder to keep the model in.
        texts: What the tokenizer is trained on.
    """
    folder = cache / f"tiny-chat-{VERSION}-python{platform.python_version()}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        draft = tempfile.mkdtemp(dir=cache, prefix=".tiny-chat-")
        tokenizer = make_tokenizer(texts)
        model = make_model(tokenizer)
        model.should_save_on_this_rank = bool  # else transformers 5.23 writes files in the first process alone
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        try:
            Path(draft).rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(draft)
    return folder


def make_tokenizer(texts: Iterable[str]) -> Any:
    """Return a byte-level tokenizer with Qwen2's way of splitting text and its chat tokens."""
    from transformers import Qwen2Tokenizer

    tokenizer = Qwen2Tokenizer(
        eos_token=END_OF_TURN,
        pad_token=PADDING,
        extra_special_tokens=["<|im_start|>"],
        model_max_length=CONTEXT_TOKENS,
    ).train_new_from_iterator(texts, VOCABULARY, show_progress=False)
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def make_model(tokenizer: Any) -> Any:
    """Return the model with fresh weights; no other random numbers are touched."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=192,
        intermediate_size=576,
        num_hidden_layers=LAYERS,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return Qwen2ForCausalLM(config)
