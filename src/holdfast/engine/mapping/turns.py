"""Readings of conversations, and of data whose columns have TRL's names and not its spelling."""

from collections.abc import Iterator
from typing import Final

from holdfast.engine.mapping.conversations import ROLES, Spelled, spell
from holdfast.engine.mapping.found import Data, Found, Part, Role, Unsure, cell
from holdfast.engine.mapping.readings import Reading, add

NOT_WHOLE: Final = ("context", "history", "input", "tools")
"""Messages that come before an answer which stands elsewhere."""
ANSWERING: Final[tuple[Role, ...]] = ("completion", "chosen", "rejected")


def read_aligned(data: Data) -> Iterator[Reading]:
    """Yield what stands under TRL's own names, brought to one spelling."""
    names: tuple[Role, ...] = ("prompt", *ANSWERING)
    said: dict[Role, Spelled | None] = {name: _said(data, name) for name in names if name in data.columns}
    parts: dict[Role, Part] = {}
    for name, found in said.items():
        if found:
            parts[name] = found[0]
    helpers = tuple(dict.fromkeys(text for found in said.values() if found for text in found[1]))
    if len(helpers) > 1:
        return
    wanted: tuple[tuple[Role, ...], ...] = (
        (("chosen", "rejected"), ("prompt", "chosen", "rejected")) if "chosen" in parts else (("prompt", "completion"),)
    )
    for roles in wanted:
        if not parts.keys() >= set(roles):
            continue
        chosen: dict[Role, Part] = {role: parts[role] for role in roles}
        if "prompt" not in roles and any(part.kind == "text" for part in chosen.values()):
            continue
        used = tuple(name for name in ("prompt", *roles) if name in data.columns)
        yield Found(
            what=f"{_listed(roles)} as messages.",
            parts=chosen,
            helpers=tuple(text for text in helpers if any(text in (said[role] or ((), ()))[1] for role in roles)),
            uses=tuple(dict.fromkeys(used)),
            needs=roles,
            pair=tuple(role for role in roles if role in ("chosen", "rejected")),
            implicit="prompt" not in roles,
        )


def _said(data: Data, name: str) -> tuple[Part, tuple[str, ...]] | None:
    if spelled := spell(data, name):
        return spelled
    return (Part(cell(name)), ()) if data.forms[name] == "text" else None


def read_prompts(data: Data) -> Iterator[Reading]:
    """Yield prompts that are there, beside columns that are in their way."""
    if "prompt" not in data.columns or not (said := _said(data, "prompt")):
        return
    part, helpers = said
    found = Found(
        what="The prompt, without columns that the trainer would take for its own.",
        parts={"prompt": part},
        helpers=helpers,
        uses=("prompt",),
        needs=("prompt",),
    )
    if data.forms.get("solution") == "number":
        found = add(found, found.what, {"completion": Part(f"str({cell('solution')})")}, "solution")
    yield found


def _listed(names: tuple[str, ...]) -> str:
    spelled = [f"`{name}`" for name in names]
    return " and ".join([", ".join(spelled[:-1]), spelled[-1]])


def read_turns(data: Data) -> Iterator[Reading]:
    """Yield conversations, whatever their column is called and however they are spelled."""
    spelled = {name: said for name in data.columns if (said := spell(data, name)) and data.forms[name] != "turn"}
    whole = [name for name in spelled if name not in (*NOT_WHOLE, "prompt", *ANSWERING)]
    if len(whole) > 1:
        if "messages" not in whole:
            yield Unsure(f"`{whole[0]}` and `{whole[1]}` could each be the conversation")
            return
        whole = ["messages"]
    if not whole:
        strange = [f"`{name}`" for name in data.shape.roles if name not in ROLES]
        if strange and data.shape.turns:
            yield Unsure(f"in `{data.shape.turns[0]}`, it is not certain who {', '.join(strange)} would be")
        return
    part, helpers = spelled[whole[0]]
    yield _with_tools(data, _with_system(data, whole[0], Found(
        what=f"Messages by role and content, from `{whole[0]}`.",
        parts={"messages": part},
        helpers=helpers,
        # A prompt beside it is not read, and so has to be in it.
        uses=(whole[0], *data.texts("prompt")),
        needs=(whole[0],),
    )))  # fmt: skip


def _with_system(data: Data, name: str, found: Found) -> Found:
    """Return the conversation with the system message that stands beside it, where it has none itself."""
    systems = data.texts("system", "system_prompt")
    spoken = [turn for value in data.values(name) if isinstance(value, list) for turn in value]
    if len(systems) != 1 or any(isinstance(turn, dict) and "system" in turn.values() for turn in spoken):
        return found
    lines = (
        f"messages = {found.parts['messages'].code}",
        f"if {cell(systems[0])}:",
        f'    messages = [{{"role": "system", "content": {cell(systems[0])}}}, *messages]',
    )
    return Found(
        what=found.what,
        parts={"messages": Part("messages", "chat")},
        lines=lines,
        helpers=found.helpers,
        uses=(*found.uses, systems[0]),
        needs=found.needs,
    )


def _with_tools(data: Data, found: Found) -> Found:
    if "tools" in data.columns:
        return add(found, found.what, {"tools": Part(cell("tools"), "plain")})
    if "functions" not in data.columns or data.forms["functions"] not in ("text", "other"):
        return found
    listed = f"json.loads({cell('functions')})" if data.forms["functions"] == "text" else cell("functions")
    code = f'json.dumps([{{"type": "function", "function": function}} for function in {listed} or []])'
    return add(found, found.what, {"tools": Part(code, "plain")})
