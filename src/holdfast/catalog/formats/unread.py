"""Columns that people expect the model to be shown, and that no trainer of a method reads: a question, its context, a system message.

Source: trl 1.16. Tried on texts with `question`, `system` and `context` beside what is read, in sft, dpo, kto and reward:
each is in no token, and dpo and kto take the first words that both answers share for the prompt.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.catalog.formats.forms import Forms
from holdfast.catalog.formats.words import CONTEXTS, LANGUAGES, REQUESTS, SYSTEMS, plain_name
from holdfast.core.job.methods import Method
from holdfast.core.rows.shape import Shape

QUESTIONS: Final = ("instruction", "question", "query", "problem", *(question for question, _ in LANGUAGES))
"""Names that nothing but a prompt has."""
EXPECTED: Final = frozenset((*REQUESTS, *QUESTIONS, *CONTEXTS, *SYSTEMS))


def find_repeats(forms: Forms, samples: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the columns that repeat the words of each column with the name of a question, a context or a system message.

    Args:
        forms: The form of each column.
        samples: Rows, as Python values.
    """
    named = (name for name, form in forms.items() if form == "text" and plain_name(name) in EXPECTED)
    return {name: _repeating(name, forms, samples) for name in named if _holds_words(name, samples)}


def _holds_words(name: str, samples: Sequence[Mapping[str, Any]]) -> bool:
    """True if most values of a column are more than one word, such as a name or a topic."""
    texts = [text for row in samples if (text := _words_of(row.get(name)))]
    return 2 * sum(" " in text or not text.isascii() for text in texts) > len(texts)


def _repeating(name: str, forms: Forms, samples: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    rows = [(text, row) for row in samples if (text := _words_of(row.get(name)))]
    others = (other for other in forms if other != name)
    return tuple(
        other for other in others if 2 * sum(text in _words_of(row.get(other)) for text, row in rows) > len(rows)
    )


def _words_of(value: Any) -> str:
    """Return all texts in a value, without regard to capitals and white space."""
    match value:
        case str():
            return " ".join(value.casefold().split())
        case Mapping():
            return " ".join(map(_words_of, value.values()))
        case list() | tuple():
            return " ".join(map(_words_of, value))
        case _:
            return ""


def unread_columns(method: Method | str, read: Sequence[str], forms: Forms, shape: Shape) -> tuple[str, ...]:
    """Return the columns that the model is not shown, neither themselves nor in a column that is read.

    Args:
        method: The method.
        read: Columns that its trainer reads.
        forms: The form of each column.
        shape: What `recognise` said of the data.
    """
    expected = _expected(Method(method), read, forms)
    return tuple(
        name
        for name, repeating in shape.repeats.items()
        if plain_name(name) in expected and name not in read and not {*repeating} & {*read}
    )


def _expected(method: Method, read: Sequence[str], forms: Forms) -> frozenset[str]:
    """Return the names of columns that belong to what a trainer reads."""
    if method.generates or all(forms.get(name) != "text" for name in read):
        return frozenset(SYSTEMS if read else ())  # the rest are for reward functions, or stand in the messages
    if "prompt" in read:
        return frozenset((*SYSTEMS, *CONTEXTS, "instruction"))
    return EXPECTED if "chosen" in read else frozenset((*SYSTEMS, *QUESTIONS))
