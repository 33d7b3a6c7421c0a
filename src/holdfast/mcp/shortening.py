"""Results short enough for a model to read; the whole one stays at hand."""

from json import dumps
from typing import Any, Final

from holdfast.results import Json

LONGEST: Final = 20_000
"""Characters of JSON that a model gets at once: about 6,000 tokens."""
LONGEST_PAGE: Final = 32_000
"""Characters of a text: a rendered script is shorter, and of no use in parts."""
LONGEST_TEXT: Final = 6_000
SHORTEST_TEXT: Final = 400
FEWEST: Final = 3
"""Elements that are left of a long list."""


def shorten(answer: Json, whole: str) -> Json:
    """Return an answer with its long lists and texts cut.

    >>> shorten({"rows": [*range(70)]}, "holdfast://results/1")["shortened"]["left_out"]
    ['rows: 6 of 70']

    Args:
        answer: The answer.
        whole: Where the whole of it is, which the short one says.
    """
    elements, characters = 64, LONGEST_TEXT
    while True:
        left_out: list[str] = []
        kept: Json = _cut(answer, "", elements, characters, left_out)
        short = {**kept, "shortened": {"whole": whole, "left_out": left_out}}
        if len(dumps(short)) <= LONGEST or (elements, characters) == (FEWEST, SHORTEST_TEXT):
            return short
        elements, characters = max(FEWEST, elements // 2), max(SHORTEST_TEXT, characters // 2)


def _cut(value: Any, path: str, elements: int, characters: int, left_out: list[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _cut(each, f"{path}.{key}" if path else key, elements, characters, left_out)
            for key, each in value.items()
        }
    if isinstance(value, list):
        kept = _cut_list(value, path, elements, left_out)
        return [_cut(each, f"{path}[{number}]", elements, characters, left_out) for number, each in enumerate(kept)]
    return _cut_text(value, path, characters, left_out) if isinstance(value, str) else value


def _cut_list(value: list[Any], path: str, elements: int, left_out: list[str]) -> list[Any]:
    if len(value) > elements:
        left_out.append(f"{path}: {len(value) - elements} of {len(value)}")
    return value[:elements]


def _cut_text(text: str, path: str, characters: int, left_out: list[str]) -> str:
    if len(text) <= characters:
        return text
    left_out.append(f"{path}: {len(text) - characters} of {len(text)} characters")
    return shorten_text(text, characters)


def shorten_text(text: str, characters: int) -> str:
    r"""Return the beginning and the end of a text; of a log, the end says more.

    >>> shorten_text("0123456789" * 3, 12)
    '012\n[18 characters left out]\n123456789'
    """
    head = characters // 4
    tail = characters - head
    return f"{text[:head]}\n[{len(text) - characters} characters left out]\n{text[-tail:]}"
