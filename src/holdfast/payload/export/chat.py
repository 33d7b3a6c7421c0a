"""What a chat template writes around each message, found by rendering chats, for programs that have no Jinja."""

from collections.abc import Callable, Sequence
from typing import Any

MARKS = ("\x01a\x01", "\x01b\x01", "\x01c\x01", "\x01d\x01")
Messages = Sequence[tuple[str, str]]


def parts_of_chat(tokenizer: Any) -> dict[str, Any] | None:
    """Return what stands around messages; None if that depends on more than their roles."""
    if not tokenizer.chat_template:
        return None

    def render(messages: Messages, *, ask: bool = False) -> str:
        told = [{"role": role, "content": content} for role, content in messages]
        return str(tokenizer.apply_chat_template(told, tokenize=False, add_generation_prompt=ask))

    try:
        return _parts(render)
    except Exception:  # noqa: BLE001 - a template raises what it likes for chats that it does not take
        return None


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
    try:
        whole = render([("system", system), ("user", first)])
    except Exception:  # noqa: BLE001 - as above: it takes no system message
        whole = ""
    told = whole.removeprefix(begin).removesuffix(f"{before}{first}{after}")
    if told.count(system) == 1:
        roles["system"] = (told.split(system)[0], told.split(system)[1])
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
