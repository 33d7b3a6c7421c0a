"""Conversations, however they are spelled: as expressions that give messages by role and content."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.catalog.formats.recognising import TRANSCRIPT
from holdfast.core.columns import ListOf, Struct, Type
from holdfast.core.json_text import parse_json
from holdfast.engine.mapping.found import DataProfile, RowExpression, cell
from holdfast.engine.mapping.spellings import CONTENT_KEYS, ROLE_KEYS, ROLES, STANDARD, role_of
from holdfast.engine.script.python_source import render_literal

PAIRS: Final = (("input", "output"), ("user", "assistant"), ("human", "assistant"), ("human", "gpt"),
                ("prompt", "response"), ("question", "answer"), ("instruction", "output"))  # fmt: skip

Spelled = tuple[RowExpression, tuple[str, ...]]
"""An expression that gives messages, and the definitions that it needs."""


def spell(data: DataProfile, name: str) -> Spelled | None:
    """Return a column's conversations as messages by role and content; None if it does not surely hold any."""
    values = data.values(name)
    if not values:
        return None
    if all(isinstance(value, str) for value in values):
        return _read_texts(name, values)
    if all(isinstance(value, Mapping) for value in values):
        return _read_mappings(data, name, values)
    if all(isinstance(value, list) and value for value in values):
        return _read_lists(cell(name), [turn for value in values for turn in value])
    return None


def _read_texts(name: str, values: Sequence[str]) -> Spelled | None:
    if all(TRANSCRIPT.match(value) for value in values):
        return RowExpression(f"to_messages({cell(name)})", "chat"), (READ_TRANSCRIPT,)
    try:
        parsed = [parse_json(value) for value in values]
    except ValueError:
        return None
    if not all(isinstance(value, list) and value for value in parsed):
        return None
    return _read_lists(f"json.loads({cell(name)})", [turn for value in parsed for turn in value])


def _read_mappings(data: DataProfile, name: str, values: Sequence[Mapping[str, Any]]) -> Spelled | None:
    """Return the reading of a column of single messages, of a list of roles beside one of contents, or of one list of messages."""
    kind: Type | None = data.columns.get(name)
    if isinstance(kind, Struct) and {"role", "content"} <= kind.fields.keys():
        lists = [isinstance(kind.fields[key], ListOf) for key in ("role", "content")]
        if all(lists):
            return RowExpression(f"to_messages({cell(name)})", "chat"), (READ_COLUMNS,)
    if all(value.get("role") in STANDARD and isinstance(value.get("content"), str) for value in values):
        return RowExpression(f"[{cell(name)}]", "chat"), ()
    held = [
        key
        for key in dict.fromkeys(values[0])
        if all(isinstance(value.get(key), list) and value[key] for value in values)
    ]
    if len(held) != 1:
        return None
    return _read_lists(
        f"{cell(name)}[{render_literal(held[0])}]", [turn for value in values for turn in value[held[0]]]
    )


def _read_lists(code: str, turns: Sequence[Any]) -> Spelled | None:
    if not all(isinstance(turn, Mapping) for turn in turns):
        return None
    keys = {key for turn in turns for key, value in turn.items() if value is not None}
    for user, assistant in PAIRS:
        if keys == {user, assistant}:
            return RowExpression(f"to_messages({code})", "chat"), (READ_PAIRS.format(user=user, assistant=assistant),)
    roles, contents = ([key for key in names if key in keys] for names in (ROLE_KEYS, CONTENT_KEYS))
    if len(roles) != 1 or not all(isinstance(turn.get(roles[0]), str) for turn in turns):
        return None
    if "function_call" in keys or any(turn[roles[0]] == "function" for turn in turns):
        return (RowExpression(f"to_messages({code})", "chat"), (READ_FUNCTIONS,)) if roles == ["role"] else None
    if len(contents) != 1:
        return None
    return _renamed(code, turns, roles[0], contents[0])


def _renamed(code: str, turns: Sequence[Mapping[str, Any]], role: str, content: str) -> Spelled | None:
    seen = {turn[role] for turn in turns}
    if not all(map(role_of, seen)):
        return None
    if (role, content) == ("role", "content") and seen <= STANDARD:
        return RowExpression(code, "chat"), ()
    if {"tool_calls", "tool_call_id"} & {key for turn in turns for key, value in turn.items() if value is not None}:
        return None
    return RowExpression(f"to_messages({code})", "chat"), (_renaming(role, content),)


def _renaming(role: str, content: str) -> str:
    """Return the definition that renames all known roles: a set may well have turns whose role no sample has."""
    lines = (
        ", ".join(f"{render_literal(name)}: {render_literal(word)}" for name, word in ROLES.items() if word == meant)
        for meant in dict.fromkeys(ROLES.values())
    )
    pairs = "".join(f"    {line},\n" for line in lines)
    return (
        f"ROLES = {{\n{pairs}}}\n\n\n"
        "def to_messages(turns):\n"
        "    messages = []\n"
        "    for turn in turns:\n"
        f"        role = ROLES.get(turn[{render_literal(role)}].lower())\n"
        "        if role is None:\n"
        f"            raise ValueError(f'no role is known for {{turn[{render_literal(role)}]!r}}: add it to ROLES; the turns are {{turns}}')\n"
        f'        messages.append({{"role": role, "content": turn[{render_literal(content)}]}})\n'
        "    return messages"
    )


READ_PAIRS: Final = """def to_messages(turns):
    messages = []
    for turn in turns:
        messages.append({{"role": "user", "content": turn["{user}"]}})
        messages.append({{"role": "assistant", "content": turn["{assistant}"]}})
    return messages"""

READ_COLUMNS: Final = '''def to_messages(columns):
    """Return a message for each role and content, which stand in two lists."""
    pairs = zip(columns["role"], columns["content"], strict=True)
    return [{"role": role, "content": content} for role, content in pairs]'''

READ_TRANSCRIPT: Final = '''ROLES = {"Human": "user", "Assistant": "assistant"}


def to_messages(transcript):
    """Split at the names of the speakers, each at the beginning of a paragraph."""
    _, *parts = re.split(r"(?:^|\\n\\n)(Human|Assistant):", transcript.strip())
    return [{"role": ROLES[name], "content": text.strip()} for name, text in zip(parts[::2], parts[1::2], strict=True)]'''

READ_FUNCTIONS: Final = '''def to_messages(turns):
    """Write calls of functions as calls of tools, which is what they are called now."""
    messages = []
    for turn in turns:
        message = {"role": turn["role"], "content": turn.get("content") or ""}
        if turn.get("function_call"):
            call = turn["function_call"]
            arguments = call["arguments"]
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
            message["tool_calls"] = [{"type": "function", "function": {"name": call["name"], "arguments": arguments}}]
        if turn["role"] == "function":
            message["role"] = "tool"
            message["name"] = turn.get("name")
        messages.append(message)
    return messages'''
