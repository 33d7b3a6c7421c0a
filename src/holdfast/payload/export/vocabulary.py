"""Whether a GGUF file will read texts as the original does: known by its vocabulary alone, before any weight is touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers

from .comparing import compare
from .converter import Converter
from .errors import ExportError
from .runtime import Gguf
from .texts import some_texts
from .tokenizers import load_tokenizer, save_tokenizer

CHAT = (
    {"role": "user", "content": "Write one short sentence about the sea. ¿Qué tal? 3 + 4"},
    {"role": "assistant", "content": "The sea is blue.\n\n```python\nprint('x')\n```"},
    {"role": "user", "content": " Thanks  "},
)
SHOWN = 12


@dataclass(frozen=True)
class VocabularyRequest:
    """What is looked at.

    Attributes:
        converter: The folder of the converter.
        path: The folder or Hub id with the configuration.
        revision: Of that, on the Hub.
        tokenizer: The folder or Hub id of the tokenizer.
        template: The chat template, if the tokenizer has none.
        texts: How many texts are compared.
        scratch: A folder for files.
    """

    converter: str
    path: str
    revision: str | None
    tokenizer: str
    template: str | None
    texts: int
    scratch: str


def look(request: VocabularyRequest) -> dict[str, Any]:
    """Return how texts have to be split, and how many are read alike."""
    converter = Converter(request.converter)
    tokenizer = load_tokenizer(request.tokenizer, request.template)
    folder, file = Path(request.scratch, "model"), Path(request.scratch, "vocabulary.gguf")
    _refuse_unknown(converter, _write_small(request, tokenizer, folder))
    found = converter.convert(folder, file, "--vocab-only")
    pairs = reference_ids(tokenizer, request.texts)
    names = filter(None, [found.name, *converter.pre_tokenizers()]) if found.asked else [""]
    best = {
        "pre_tokenizer": "",
        "found_by": "none",
        "listed": found.name,
        "texts": len(pairs),
        "equal": -1,
        "composed": 0,
        "unspaced": 0,
        "first": "",
    }
    for name in dict.fromkeys(names):
        trial = _try(file, name, pairs)
        if trial["equal"] > best["equal"]:
            how = "hash" if name == found.name else "proof"
            best = {**best, **trial, "pre_tokenizer": name, "found_by": how if found.asked else "none"}
        if best["equal"] == len(pairs):
            break
    return best


def _write_small(request: VocabularyRequest, tokenizer: Any, folder: Path) -> str:
    """Write a model's folder without weights; return its architecture."""
    config = transformers.AutoConfig.from_pretrained(request.path, revision=request.revision)
    text = config.get_text_config()
    text.vocab_size = max(text.vocab_size, len(tokenizer))
    config.save_pretrained(folder)
    save_tokenizer(tokenizer, [request.tokenizer, request.path], folder)
    return str(next(iter(config.architectures or ("",))))


def _refuse_unknown(converter: Converter, architecture: str) -> None:
    if not converter.knows(architecture):
        raise ExportError(
            "architecture", f"the converter of this release does not know {architecture or 'a model without one'}"
        )


def _try(file: Path, name: str, pairs: Sequence[tuple[str, bool, list[int]]]) -> dict[str, Any]:
    try:
        model = Gguf(str(file), threads=1, pre_tokenizer=name, vocabulary=True)
    except ExportError:
        return {"equal": -1, "composed": 0, "unspaced": 0, "first": f"the runtime does not know {name}"}
    try:
        return compare(model, pairs)
    finally:
        model.close()


def reference_ids(tokenizer: Any, number: int) -> list[tuple[str, bool, list[int]]]:
    """Return texts, whether the tokens around every text belong to them, and the ids that the original gives."""
    texts = some_texts(number)
    found = [(text, False, tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
    found += [(text, True, tokenizer(text)["input_ids"]) for text in texts[:SHOWN]]
    if tokenizer.chat_template:
        turns = [CHAT[:1], CHAT[:2], CHAT]
        rendered = [
            tokenizer.apply_chat_template(list(each), tokenize=False, add_generation_prompt=each[-1]["role"] == "user")
            for each in turns
        ]
        found += [(text, False, tokenizer(text, add_special_tokens=False)["input_ids"]) for text in rendered]
    return found
