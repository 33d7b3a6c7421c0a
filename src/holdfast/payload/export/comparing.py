"""Comparing how a GGUF file reads texts with how the original does; without torch, which takes long to import."""

import json
from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from .runtime import Gguf

WINDOW = 256
"""Tokens that are read at once."""
LIMIT = 48
"""Tokens of an answer."""


def compare(model: Gguf, pairs: Sequence[tuple[str, bool, list[int]]]) -> dict[str, Any]:
    """Return for how many texts the ids are equal, and the first for which they are not.

    Two differences are understood, and counted by themselves. Tokenizers that compose characters (é out of e and an accent) are no
    others than those of the runtime, which leaves that to whoever sends the text. And transformers puts no space before a text that
    begins with one, where sentencepiece, and with it the runtime, does.
    """
    equal, composed, unspaced, first = 0, 0, 0, ""
    for text, special, ids in pairs:
        mine = model.ids(text, special=special)
        if mine == list(ids):
            equal += 1
        elif model.ids(normalize("NFC", text), special=special) == list(ids):
            equal, composed = equal + 1, composed + 1
        elif text == " " or (text.startswith(" ") and model.ids(text[1:], special=special) == list(ids)):
            equal, unspaced = equal + 1, unspaced + 1
        elif not first:
            first = _apart(text, mine, ids)
    return {"equal": equal, "composed": composed, "unspaced": unspaced, "first": first}


def _apart(text: str, mine: Sequence[int], theirs: Sequence[int]) -> str:
    at = next(
        (at for at, (one, two) in enumerate(zip(mine, theirs, strict=False)) if one != two), min(len(mine), len(theirs))
    )
    return f"{json.dumps(text[:80], ensure_ascii=False)}: from token {at} on {list(mine[at : at + 5])}, not {list(theirs[at : at + 5])}"
