"""What the original gives: token ids, likelihoods on a sample, logits, and an answer."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from .chat import parts_of_chat
from .comparing import LIMIT, WINDOW
from .merging import class_of, refuse_quantized
from .vocabulary import CHAT, reference_ids

WINDOWS = 8
SAMPLING = ("temperature", "top_p", "top_k")
COMPARED = 256
"""Positions of which all logits are compared."""


@dataclass(frozen=True)
class ReferenceRequest:
    """What is asked of the original.

    Attributes:
        model: Its folder.
        sample: The file with the text for the perplexity.
        texts: How many texts are compared.
        out: The folder for what it gives.
    """

    model: str
    sample: str
    texts: int
    out: str


def refer(request: ReferenceRequest) -> dict[str, Any]:
    """Write what the original computes; return the facts about it."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(request.model)
    config = transformers.AutoConfig.from_pretrained(request.model)
    refuse_quantized(config, request.model)
    model = class_of(config).from_pretrained(request.model, dtype=torch.float32).eval()
    windows = _windows(tokenizer, Path(request.sample).read_text(encoding="utf-8"), config)
    losses, logits = _measure(model, windows)
    prompt = _prompt(tokenizer)
    answer = _answer(model, prompt)
    ends = _ends(model, tokenizer)
    out = Path(request.out)
    np.save(out / "logits.npy", logits)
    reference = {
        "pairs": reference_ids(tokenizer, request.texts),
        "windows": windows,
        "prompt": prompt,
        "answer": answer,
        "ends": {str(each): tokenizer.convert_ids_to_tokens(each) for each in ends},
        "template": tokenizer.chat_template,
    }
    (out / "reference.json").write_text(json.dumps(reference), encoding="utf-8")
    return {
        "perplexity": float(np.exp(np.mean(losses))),
        "tokens": len(losses),
        "generated": len(answer),
        "ended": bool(answer) and answer[-1] in ends,
        "chat": parts_of_chat(tokenizer),
        "begins": tokenizer.bos_token or "",
        "stops": tokenizer.convert_ids_to_tokens(ends),
        "sampling": {
            name: value for name in SAMPLING if (value := getattr(model.generation_config, name, None)) is not None
        },
    }


def _windows(tokenizer: Any, text: str, config: Any) -> list[list[int]]:
    """Return the sample as sequences of tokens, each with the tokens that stand before every text."""
    before = tokenizer("")["input_ids"][:1]
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    room = min(WINDOW, getattr(config.get_text_config(), "max_position_embeddings", None) or WINDOW) - len(before)
    cut = [before + ids[at : at + room] for at in range(0, len(ids), room)]
    return [each for each in cut if len(each) > 1 + len(before)][:WINDOWS]


def _measure(model: Any, windows: list[list[int]]) -> tuple[list[float], Any]:
    """Return the loss of each token of the windows, and the logits at the first positions."""
    losses: list[float] = []
    kept: list[Any] = []
    for ids in windows:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0].float()
        losses += torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="none").tolist()
        kept.append(logits[: COMPARED - sum(map(len, kept))].numpy())
    return losses, np.concatenate(kept)


def _prompt(tokenizer: Any) -> list[int]:
    if not tokenizer.chat_template:
        return list(tokenizer("The sea is")["input_ids"])
    text = tokenizer.apply_chat_template(list(CHAT[:1]), tokenize=False, add_generation_prompt=True)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _answer(model: Any, prompt: list[int]) -> list[int]:
    with torch.no_grad():
        whole = model.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            do_sample=False,
            max_new_tokens=LIMIT,
        )
    return list(map(int, whole[0][len(prompt) :]))


def _ends(model: Any, tokenizer: Any) -> list[int]:
    eos = model.generation_config.eos_token_id
    ends = [*(eos if isinstance(eos, list) else [eos]), tokenizer.eos_token_id]
    return sorted({each for each in ends if each is not None})
