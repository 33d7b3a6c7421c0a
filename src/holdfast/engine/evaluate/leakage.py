"""Rows that stand in the training data: whole, or nearly, by sequences of words."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from holdfast.core.evaluation import Example, Prompt
from holdfast.core.text.numbers import is_number

WORD: Final = re.compile(r"[^\W_]+")
SEQUENCE: Final = 8
"""Words of a sequence. A shorter row is one sequence, and found where texts of a training row, one or several in their order, say nothing else."""
NEAR: Final = 0.5
"""The share of a row's sequences that stand in the training data, from which on it is nearly there."""


@dataclass(frozen=True, slots=True)
class LeakedRows:
    """Rows of a dataset that stand in the training data.

    Attributes:
        exact: The numbers of the rows of which every sequence of eight words stands there.
        near: Those of which at least half of the sequences do.
    """

    exact: tuple[int, ...] = ()
    near: tuple[int, ...] = ()


def find_leaked(examples: Sequence[Example], training: Iterable[Mapping[str, Any]]) -> LeakedRows:
    """Return the rows that stand in training data, which is read once.

    Args:
        examples: The rows that are evaluated.
        training: The rows that the model was trained on.
    """
    sequences = {each.row: set[str]().union(*map(_sequences, _texts_of(each))) for each in examples}
    wanted, met = set[str]().union(*sequences.values()), set[str]()
    for row in training:
        texts = [*map(_words, _texts(row))]
        met |= {*_sequences([*chain.from_iterable(texts)]), *_short(texts)} & wanted
    shares = {row: len(each & met) / len(each) for row, each in sequences.items() if each}
    return LeakedRows(
        exact=tuple(row for row, share in shares.items() if share == 1),
        near=tuple(row for row, share in shares.items() if NEAR <= share < 1),
    )


def _texts_of(example: Example) -> Iterator[list[str]]:
    """Yield the words of each text that the model is to read and to write in a row: a prompt and its answer."""
    if example.calls:
        yield _words(" ".join((*_own_texts(example), example.reference)))
        return
    for part in _prompts_and_answers(example):
        yield _words(" ".join(_texts(part)))


def _prompts_and_answers(example: Example) -> list[tuple[Prompt, Prompt]]:
    """Return each prompt of a row with its answer; of several choices, the right one."""
    scored: list[tuple[Prompt, Prompt]] = [(each.prompt, each.answer) for each in example.scored]
    if scored and example.right is not None:
        return [scored[example.right]]
    whole = (example.prompt, example.reference)
    return [*scored, whole] if any(whole) else scored


def _own_texts(example: Example) -> list[str]:
    """Return the texts of a benchmark's row that its prompt has, without the words that the task adds; else all of its own text."""
    text = example.own_text
    there = {each.strip() for each in _texts(example.columns) if each.strip() in text}
    whole = sorted((each for each in there if _is_whole(each, there)), key=text.index)
    return whole or [text]


def _is_whole(text: str, texts: Iterable[str]) -> bool:
    """True if a text says something, and is no part of another one."""
    return bool(text) and not any(text in each and text != each for each in texts)


def _texts(value: Any) -> Iterable[str]:
    """Yield the texts in a value, without the names of roles."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if name not in ("role", "from"):
                yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif is_number(value):
        yield f"{value:g}"


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def _sequences(words: Sequence[str]) -> set[str]:
    """Return the sequences of eight words; of a shorter text, the text."""
    if 0 < len(words) < SEQUENCE:
        return {" ".join(words)}
    return {" ".join(words[start : start + SEQUENCE]) for start in range(len(words) - SEQUENCE + 1)}


def _short(texts: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the texts of a training row that are shorter than a sequence, alone and with those that follow."""
    for start in range(len(texts)):
        words: list[str] = []
        for text in texts[start:]:
            words += text
            if len(words) >= SEQUENCE:
                break
            yield " ".join(words)
