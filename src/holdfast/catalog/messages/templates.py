"""Templates of messages: how they are taken apart, looked up, and known again in a log."""

import re
from typing import Final, NamedTuple

HOLE: Final = "¤"
"""Stands for what is computed."""
WORD: Final = re.compile(r"[A-Za-z_]\w+")
WHOLE: Final = re.compile(rf"(?<![\w{HOLE}])[A-Za-z_]\w+(?![\w{HOLE}])")
"""A word that no hole touches: what stands in the hole may belong to it."""


class MessageTemplate(NamedTuple):
    """What a release says at one place.

    Attributes:
        kind: The exception's name, or `warning` or `error` of a logger.
        template: The message, with holes.
        place: `trainer.sft_trainer:SFTTrainer.__init__`.
    """

    kind: str
    template: str
    place: str


def literal_words(template: str) -> list[str]:
    """Return the words of a template's literal parts.

    >>> literal_words("Unknown task: ¤. Choose one of ¤s")
    ['Unknown', 'task', 'Choose', 'one', 'of']
    """
    return WHOLE.findall(template)


def key_of(template: str) -> str:
    """Return the word by which a template is found: the longest that stands whole in every such message.

    >>> key_of("Unknown task: ¤. Choose one of ¤_tasks")
    'Unknown'
    """
    return max(WHOLE.findall(template), key=len, default="")


def keys_in(text: str) -> list[str]:
    """Return the words of a text under which a template of it may be found, each once.

    >>> keys_in("Unknown task: sum. Unknown!")
    ['Unknown', 'task', 'sum']
    """
    return list(dict.fromkeys(WORD.findall(text)))


def fits(template: str, text: str, *, anywhere: bool = False) -> bool:
    """True if a text, of single blanks, begins with what a template makes.

    Args:
        template: What was said.
        text: What stands in a log; more may follow.
        anywhere: Whether it may stand behind something else, such as a logger's name.

    >>> fits("Unknown task: ¤. Choose", "Unknown task: a sum. Choose one"), fits("Unknown task: ¤", "W: Unknown task: a")
    (True, False)
    """
    first, *others = template.split(HOLE)
    at = text.find(first) if anywhere else 0 if text.startswith(first) else -1
    if at < 0:
        return False
    at += len(first)
    for part in others:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
