"""Conversations, however they are spelled: as expressions that give messages by role and content."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from holdfast.catalog.formats.recognising import TRANSCRIPT
from holdfast.core.rows.columns import ListOf, Struct, Type
from holdfast.core.text.json_text import parse_json
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
    if all_are(values, str):
        return _read_texts(name, values)
    if all_are(values, Mapping):
        return _read_mappings(data, name, values)
    if _are_filled_lists(values):
        return _read_lists(cell(name), list(chain.from_iterable(values)))
    return None


def all_are(values: Iterable[Any], kind: type) -> bool:
    """True if all values are of a type."""
    return all(isinstance(value, kind) for value in values)


def _are_filled_lists(values: Iterable[Any]) -> bool:
    return all(isinstance(value, list) and value for value in values)


def _read_texts(name: str, values: Sequence[str]) -> Spelled | None:
    if all(TRANSCRIPT.match(value) for value in values):
        return RowExpression(f"to_messages({cell(name)})", "chat"), (READ_TRANSCRIPT,)
    try:
        parsed = [parse_json(value) for value in values]
    except ValueError:
        return None
    if not _are_filled_lists(parsed):
        return None
    return _read_lists(f"json.loads({cell(name)})", list(chain.from_iterable(parsed)))


def _read_mappings(data: DataProfile, name: str, values: Sequence[Mapping[str, Any]]) -> Spelled | None:
    """Return the reading of a column of single messages, of a list of roles beside one of contents, or of one list of messages."""
    if _has_two_lists(data.columns.get(name)):
        return RowExpression(f"to_messages({cell(name)})", "chat"), (READ_COLUMNS,)
    if all(map(_is_message, values)):
        return RowExpression(f"[{cell(name)}]", "chat"), ()
    held = _keys_of_lists(values)
    if len(held) != 1:
        return None
    turns = chain.from_iterable(value[held[0]] for value in values)
    return _read_lists(f"{cell(name)}[{render_literal(held[0])}]", list(turns))


def _has_two_lists(kind: Type | None) -> bool:
    """True of a column of roles in one list and contents in another."""
    if not isinstance(kind, Struct) or not {"role", "content"} <= kind.fields.keys():
        return False
    return all(isinstance(kind.fields[key], ListOf) for key in ("role", "content"))


def _is_message(value: Mapping[str, Any]) -> bool:
    return value.get("role") in STANDARD and isinstance(value.get("content"), str)


def _keys_of_lists(values: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys under which all mappings have a list with something in it."""
    return [key for key in values[0] if _are_filled_lists(value.get(key) for value in values)]


def _read_lists(code: str, turns: Sequence[Any]) -> Spelled | None:
    if not all_are(turns, Mapping):
        return None
    keys = _filled_keys(turns)
    if pair := next((pair for pair in PAIRS if keys == {*pair}), None):
        user, assistant = pair
        return RowExpression(f"to_messages({code})", "chat"), (READ_PAIRS.format(user=user, assistant=assistant),)
    return _read_messages(code, turns, keys)


def _read_messages(code: str, turns: Sequence[Mapping[str, Any]], keys: set[str]) -> Spelled | None:
    """Return the reading of turns that name their speaker."""
    role, content = _only(ROLE_KEYS, keys), _only(CONTENT_KEYS, keys)
    if role is None or not all_are((turn.get(role) for turn in turns), str):
        return None
    if "function_call" in keys or "function" in {turn[role] for turn in turns}:
        return _read_functions(code, role)
    return _renamed(code, turns, role, content)


def _read_functions(code: str, role: str) -> Spelled | None:
    return (RowExpression(f"to_messages({code})", "chat"), (READ_FUNCTIONS,)) if role == "role" else None


def _only(names: Iterable[str], keys: set[str]) -> str | None:
    """Return the only one of some names that is a key; None if none is, or several are."""
    found = [name for name in names if name in keys]
    return found[0] if len(found) == 1 else None


def _filled_keys(turns: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the keys that have a value in any turn."""
    return {key for turn in turns for key, value in turn.items() if value is not None}


def _renamed(code: str, turns: Sequence[Mapping[str, Any]], role: str, content: str | None) -> Spelled | None:
    seen = {turn[role] for turn in turns}
    if content is None or not all(map(role_of, seen)):
        return None
    if (role, content) == ("role", "content") and seen <= STANDARD:
        return RowExpression(code, "chat"), ()
    if {"tool_calls", "tool_call_id"} & _filled_keys(turns):
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
