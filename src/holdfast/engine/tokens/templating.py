"""What a chat template makes of single messages: those that it leaves out, and those that it writes as Python spells them.

The messages' texts are looked for in what the template wrote, one after another. Where one is not there, the conversation is
rendered again with marks in their place, so that a template that trims or rewrites a text is not mistaken for one that leaves it out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from holdfast.core.outcome import Raised, outcome_of

MARK: Final = "holdfast{}mark"
"""What stands for a message's text: letters and digits, which no template trims or escapes."""
Render = Callable[[Sequence[Any]], str]
"""Renders one conversation."""


@dataclass(frozen=True, slots=True)
class TemplateLoss:
    """What a chat template lost of a conversation.

    Attributes:
        omitted: Roles of the messages that it left out.
        last: Whether the last message is one of them.
        spelled: Whether it wrote a list or a record as Python spells it.
    """

    omitted: tuple[str, ...]
    last: bool
    spelled: bool


def find_lost(turns: Sequence[Any], text: str, render: Render) -> TemplateLoss | None:
    """Return the messages of a conversation that a template drops; None where every message is in the text.

    Args:
        turns: The messages.
        text: What the template wrote of them.
        render: Renders a conversation likewise.

    >>> def render(turns):
    ...     return "".join(f"<{each['role']}>{each['content']}" for each in turns if each["role"] != "gpt")
    >>> turns = [{"role": "user", "content": "2 + 2?"}, {"role": "gpt", "content": "4"}]
    >>> find_lost(turns, render(turns), render)
    TemplateLoss(omitted=('gpt',), last=True, spelled=False)
    """
    turns = [each for each in turns if isinstance(each, Mapping)]
    whole = _stands_in_order([*chain.from_iterable(map(texts_of, turns))], text)
    spelled = _spelled(turns, text)
    if whole and not spelled:
        return None
    lost = outcome_of(lambda: _lost(turns, text, render, spelled, whole=whole))
    return None if isinstance(lost, Raised) else lost  # a mark may be what the template refuses


def _lost(
    turns: Sequence[Mapping[str, Any]], text: str, render: Render, spelled: Sequence[int], *, whole: bool
) -> TemplateLoss | None:
    """Return what is lost; with `whole`, no message is."""
    omitted = [] if whole else _omitted(turns, text, render)
    repeated = any(_is_written_as(str(turns[at]["content"]), turns, at, text, render) for at in spelled)
    roles = tuple(dict.fromkeys(str(turns[at].get("role")) for at in omitted))
    return TemplateLoss(roles, len(turns) - 1 in omitted, repeated) if omitted or repeated else None


def _spelled(turns: Sequence[Mapping[str, Any]], text: str) -> list[int]:
    """Return which messages are lists or records whose spelling in Python stands in a text."""
    return [at for at, turn in enumerate(turns) if _is_record(turn) and str(turn["content"]) in text]


def texts_of(turn: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message, without white space around them; those of its parts where it has several.

    >>> texts_of({"content": [{"type": "text", "text": " Who? "}, {"type": "image"}]})
    ['Who?']
    >>> texts_of({"content": 42})
    ['42']
    """
    content = turn.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return [text for each in texts if isinstance(each, str | int | float) and (text := str(each).strip())]


def _is_record(turn: Mapping[str, Any]) -> bool:
    return isinstance(turn.get("content"), list | dict) and bool(turn["content"])


def _stands_in_order(parts: Sequence[str], text: str) -> bool:
    """True if texts stand one after another in another text.

    >>> _stands_in_order(["4 or 5?", "4"], "user: 4 or 5? bot: 4"), _stands_in_order(["4 or 5?", "4"], "user: 4 or 5?")
    (True, False)
    """
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _omitted(turns: Sequence[Mapping[str, Any]], written: str, render: Render) -> list[int]:
    """Return which of the messages are left out: those with a text whatever they say, others because they are none."""
    with_text = [at for at, turn in enumerate(turns) if texts_of(turn)]
    text = render([_marked(turn, at) if at in with_text else turn for at, turn in enumerate(turns)])
    silent = [
        at
        for at in with_text
        if not isinstance(turns[at]["content"], str) and _is_written_as("", turns, at, written, render)
    ]
    return [at for at in with_text if at in silent or MARK.format(at) not in text]


def _is_written_as(spelling: str, turns: Sequence[Mapping[str, Any]], at: int, text: str, render: Render) -> bool:
    """True if a spelling stands in a text where another text of the message would stand."""
    marked = render([_marked(turn, at) if number == at else turn for number, turn in enumerate(turns)])
    return marked.replace(MARK.format(at), spelling) == text


def _marked(turn: Mapping[str, Any], at: int) -> dict[str, Any]:
    return {**turn, "content": MARK.format(at)}
