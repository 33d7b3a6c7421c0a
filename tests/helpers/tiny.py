"""A tiny Qwen2 chat model with its tokenizer, for tests that train: about 100,000 parameters, random, no network.

    from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`
    def test_something(tiny: Path) -> None: ...

Run as a program it makes one: `python tests/helpers/tiny.py FOLDER`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LENGTH = 256  # tokens


@pytest.fixture(scope="session", name="tiny")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder; made once, however many test files import the fixture."""
    folder = tmp_path_factory.getbasetemp() / "tiny"
    if not folder.exists():
        # In a process of its own: this one needs no torch.
        subprocess.run([sys.executable, __file__, str(folder)], check=True, env=quiet_environment())
    return folder


def quiet_environment(**variables: str) -> dict[str, str]:
    """Return this process' variables without a launcher's, without a network, and with one thread a process."""
    kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return kept | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"} | variables


def make_tiny(folder: Path) -> None:
    """Save the model and its tokenizer, the same bytes each time."""
    # Seconds of imports, which only the child process is to pay.
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    corpus = [f"{a} plus {b} equals {a + b}. user assistant system" for a in range(40) for b in range(40)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=512, special_tokens=special, initial_alphabet=alphabet)
    pieces.train_from_iterator(corpus, trainer)
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, model_max_length=LENGTH, **ends)
    tokenizer.chat_template = CHAT_TEMPLATE
    config = Qwen2Config(
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
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    make_tiny(Path(sys.argv[1]))
