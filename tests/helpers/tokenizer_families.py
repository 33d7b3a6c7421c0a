r"""Tokenizers of the families that models have, trained on a few texts, each with a tiny model of an architecture that has such a one.

    from tests.helpers.tokenizer_families import FAMILIES, tokenizer_families  # noqa: F401 - the fixture `families`

Byte-level BPE with the splitting rules of Qwen, Llama 3, GPT-2 and Mistral (Tekken), and sentencepiece BPE and unigram. The splitting
rules are those that the `tokenizer.json` files of these models have. Run as a program it makes them:
`python tests/helpers/tokenizer_families.py FOLDER`.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.tiny import quiet_environment

ROOT = Path(__file__).parents[2]
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA_3 = QWEN.replace(r"|\p{N}| ?", r"|\p{N}{1,3}| ?")
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
FAMILIES = ("qwen", "llama-3", "gpt-2", "mistral", "sentencepiece-bpe", "sentencepiece-unigram")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = (
    "{% for message in messages %}### {{ message['role'] }}:\n{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}### assistant:\n{% endif %}"
)
"""Without special tokens: the runtime puts a space behind each of them before sentencepiece, and transformers does not."""
SIZE = 700


@pytest.fixture(scope="session", name="families")
def tokenizer_families(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the models; they are made once."""
    folder = tmp_path_factory.getbasetemp() / "families"
    if not folder.exists():
        environment = quiet_environment(PYTHONPATH=str(ROOT))
        subprocess.run([sys.executable, __file__, str(folder)], check=True, env=environment, capture_output=True)
    return folder


def make_families(folder: Path) -> None:
    """Save a model with each tokenizer."""
    import torch
    import transformers as t

    torch.manual_seed(0)
    rules = {"qwen": QWEN, "llama-3": LLAMA_3, "mistral": TEKKEN, "gpt-2": ""}
    tokenizers = {name: byte_level(rule, begins=name in ("llama-3", "mistral")) for name, rule in rules.items()}
    tokenizers |= {
        f"sentencepiece-{kind}": sentencepiece(folder / f"{kind}.model", kind) for kind in ("bpe", "unigram")
    }
    small = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
    }
    for name, tokenizer in tokenizers.items():
        tokenizer.chat_template = PLAIN if name.startswith("sentencepiece") else TEMPLATE
        size = {
            "vocab_size": len(tokenizer),
            "eos_token_id": tokenizer.eos_token_id,
            "bos_token_id": tokenizer.bos_token_id,
        }
        if name == "gpt-2":
            model: Any = t.GPT2LMHeadModel(
                t.GPT2Config(**size, n_embd=64, n_layer=1, n_head=2, n_positions=512, n_ctx=512)
            )
        elif name == "qwen":
            model = t.Qwen2ForCausalLM(t.Qwen2Config(**size, **small))
        elif name == "mistral":
            model = t.MistralForCausalLM(t.MistralConfig(**size, **small))
        else:
            model = t.LlamaForCausalLM(t.LlamaConfig(**size, **small))
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        if name.startswith("sentencepiece"):
            shutil.copy(folder / f"{name.partition('-')[2]}.model", folder / name / "tokenizer.model")


def corpus() -> Iterator[str]:
    from holdfast.payload.export.texts import LINES

    for number in range(300):
        yield from (f"{line} {number}" for line in LINES[number % 7 :: 7])


def byte_level(rule: str, *, begins: bool) -> Any:
    """A byte-level BPE tokenizer with a splitting rule; without one, that of GPT-2."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    pieces = Tokenizer(models.BPE(ignore_merges=begins))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not rule)
    split = [pre_tokenizers.Split(Regex(rule), "isolated"), level] if rule else [level]
    pieces.pre_tokenizer = pre_tokenizers.Sequence(split)
    pieces.decoder = decoders.ByteLevel()
    if rule == QWEN:
        pieces.normalizer = normalizers.NFC()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(corpus(), trainer)
    if begins:
        pieces.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 3)])
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", **({"bos_token": "<s>"} if begins else {})}
    return PreTrainedTokenizerFast(tokenizer_object=pieces, **ends)


def sentencepiece(path: Path, kind: str) -> Any:
    """A sentencepiece tokenizer, as Llama 2 has it: bytes for what is unknown, digits one by one, a space before every text."""
    import sentencepiece as spm
    from transformers import LlamaTokenizer

    path.parent.mkdir(parents=True, exist_ok=True)
    spm.SentencePieceTrainer.train(
        sentence_iterator=corpus(), model_prefix=str(path.with_suffix("")), model_type=kind, vocab_size=SIZE, byte_fallback=True,
        split_digits=True, character_coverage=0.98, normalization_rule_name="identity", remove_extra_whitespaces=False,
        user_defined_symbols=[], unk_id=0, bos_id=1, eos_id=2, pad_id=-1, hard_vocab_limit=False, minloglevel=2,
        allow_whitespace_only_pieces=True,
    )  # fmt: skip
    tokenizer = LlamaTokenizer.from_pretrained(
        str(path.parent), vocab_file=str(path), legacy=False, add_bos_token=kind == "bpe"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.eos_token = "<|im_end|>"  # noqa: S105 - no password
    return tokenizer


if __name__ == "__main__":
    make_families(Path(sys.argv[1]))
