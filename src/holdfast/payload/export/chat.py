"""What a chat template writes around each message, found by rendering chats, for programs that have no Jinja."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..calls import RaisedCall, attempt

MARKS = ("\x01a\x01", "\x01b\x01", "\x01c\x01", "\x01d\x01")
Answer = TypeVar("Answer")
Messages = Sequence[tuple[str, str]]


def parts_of_chat(tokenizer: Any) -> dict[str, Any] | None:
    """Return what stands around messages; None if that depends on more than their roles."""
    if not tokenizer.chat_template:
        return None

    def render(messages: Messages, *, ask: bool = False) -> str:
        turns = [{"role": role, "content": content} for role, content in messages]
        return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=ask))

    return _none_if_raised(lambda: _parts(render))


def _none_if_raised(call: Callable[[], Answer]) -> Answer | None:
    """Return what a call gives; None if it raises: a template raises what it likes for chats that it does not take."""
    answer = attempt(call)
    return None if isinstance(answer, RaisedCall) else answer


def _parts(render: Callable[..., str]) -> dict[str, Any] | None:
    first, second, third, system = MARKS
    alone = render([("user", first)])
    answered = render([("user", first), ("assistant", second)])
    again = render([("user", first), ("assistant", second), ("user", third)])
    if not (answered.startswith(alone) and again.startswith(answered)):
        return None
    before_answer, after_answer = answered[len(alone) :].split(second)
    before, after = again[len(answered) :].split(third)
    begin = alone.split(first)[0].removesuffix(before)
    opening = render([("user", first)], ask=True)[len(alone) :]
    roles = {"user": (before, after), "assistant": (before_answer, after_answer)}
    whole = _none_if_raised(lambda: render([("system", system), ("user", first)])) or ""
    around = whole.removeprefix(begin).removesuffix(f"{before}{first}{after}")
    if around.count(system) == 1:
        roles["system"] = (around.split(system)[0], around.split(system)[1])
    parts = {"begin": begin, "roles": roles, "opening": opening}
    return parts if all(_compose(parts, each) == render(each, ask=True) for each in _chats(roles)) else None


def _chats(roles: dict[str, tuple[str, str]]) -> list[Messages]:
    chat = [("user", "a\nb"), ("assistant", "c d"), ("user", "1"), ("assistant", "2"), ("user", "e?")]
    return [chat[:1], chat[:3], chat, *([[("system", "Be brief."), *chat[:3]]] if "system" in roles else [])]


def _compose(parts: dict[str, Any], messages: Messages) -> str:
    around = [(*parts["roles"][role], content) for role, content in messages]
    return (
        f"{parts['begin']}{''.join(f'{before}{content}{after}' for before, after, content in around)}{parts['opening']}"
    )
