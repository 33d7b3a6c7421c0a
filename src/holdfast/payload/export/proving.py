"""What a GGUF file gives, beside what the original gave."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .comparing import LIMIT, compare
from .converter import Converter
from .runtime import Gguf

TEMPLATE = "tokenizer.chat_template"
SHOWN = 24


@dataclass(frozen=True)
class ProofRequest:
    """What is measured.

    Attributes:
        converter: The folder of the converter.
        file: The GGUF file.
        reference: The folder with what the original gave.
        threads: How many threads read.
    """

    converter: str
    file: str
    reference: str
    threads: int


def prove(request: ProofRequest) -> dict[str, Any]:
    """Return what was measured on a GGUF file."""
    reference = json.loads(Path(request.reference, "reference.json").read_text(encoding="utf-8"))
    logits = np.load(Path(request.reference, "logits.npy"))
    converter = Converter(request.converter)
    model = Gguf(request.file, threads=request.threads)
    answer = list(model.answer(reference["prompt"], LIMIT))
    return {
        "types": converter.tensor_types(Path(request.file)),
        "texts": len(reference["pairs"]),
        **compare(model, reference["pairs"]),
        "template": converter.text_of(Path(request.file), TEMPLATE) == reference["template"],
        **_measure(model, reference["windows"], logits),
        "generated": len(answer),
        "ended": bool(answer) and model.ends(answer[-1]),
        "answer": model.text(answer[:SHOWN]),
        "endless": [token for number, token in reference["ends"].items() if not model.ends(int(number))],
        "memory_bytes": model.memory_bytes(),
    }


def _measure(model: Gguf, windows: list[list[int]], theirs: Any) -> dict[str, float]:
    """Return the perplexity on the windows, and how far the logits are from those of the original."""
    losses: list[float] = []
    kept: list[Any] = []
    for ids in windows:
        logits = model.logits(ids).astype(np.float64)
        sums = np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1)) + logits.max(-1)
        losses += [float(sums[at] - logits[at, token]) for at, token in enumerate(ids[1:])]
        kept.append(logits[: len(theirs) - sum(map(len, kept))])
    mine = np.concatenate(kept)
    varied = np.linalg.norm(theirs - theirs.mean(-1, keepdims=True))
    return {
        "relative": float(np.linalg.norm(mine - theirs) / varied),
        "agreement": float((mine.argmax(-1) == theirs.argmax(-1)).mean()),
        "perplexity": float(np.exp(np.mean(losses))),
    }
