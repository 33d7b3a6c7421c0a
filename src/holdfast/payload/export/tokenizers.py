"""Tokenizers, with the files that only converters read."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import transformers
from transformers.utils.hub import cached_file

SENTENCEPIECE = ("tokenizer.model", "spiece.model")
"""What transformers no longer saves, and the converter needs for the scores of pieces."""


def load_tokenizer(name: str, template: str | None) -> Any:
    """Return a tokenizer, with a chat template if there is one."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    if template and not tokenizer.chat_template:
        tokenizer.chat_template = template
    return tokenizer


def save_tokenizer(tokenizer: Any, sources: Iterable[str], out: Path) -> None:
    """Save a tokenizer, and beside it the sentencepiece model that it was made from, if one of the sources has it."""
    tokenizer.save_pretrained(out)
    for source in sources:
        for file in SENTENCEPIECE:
            found = None if (out / file).exists() else _find(source, file)
            if found is not None:
                shutil.copyfile(found, out / file)
                _name_added(tokenizer, out / "tokenizer_config.json")


def _name_added(tokenizer: Any, path: Path) -> None:
    """Name the added tokens where converters look for them, since a sentencepiece model does not have them."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    added = tokenizer.added_tokens_decoder
    settings["added_tokens_decoder"] = {
        str(number): {"content": each.content, "special": each.special} for number, each in added.items()
    }
    path.write_text(json.dumps(settings, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _find(source: str, file: str) -> str | None:
    try:
        found: str | None = cached_file(source, file, _raise_exceptions_for_missing_entries=False)
    except OSError:
        return None
    return found
