"""Readings of conversations, and of data whose columns have TRL's names and not its spelling."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.catalog.formats.words import ANSWERS
from holdfast.engine.mapping.conversations import Spelled, spell
from holdfast.engine.mapping.found import ColumnReading, ColumnRole, DataProfile, RowExpression, Uncertainty, cell
from holdfast.engine.mapping.readings import Reading, add, find_label
from holdfast.engine.mapping.spellings import role_of

PAIRS: Final[tuple[tuple[ColumnRole, ...], ...]] = (("chosen", "rejected"), ("prompt", "chosen", "rejected"))
COMPLETIONS: Final[tuple[tuple[ColumnRole, ...], ...]] = (("prompt", "completion"),)
NOT_WHOLE: Final = ("context", "history", "input", "tools")
"""Messages that come before an answer which stands elsewhere."""


def read_aligned(data: DataProfile) -> Iterator[Reading]:
    """Yield the readings of columns with TRL's own names, in one spelling."""
    names: tuple[ColumnRole, ...] = ("prompt", *ANSWERS)
    spelled = {name: found for name in names if name in data.columns and (found := _spelled(data, name))}
    if len({text for _, helpers in spelled.values() for text in helpers}) > 1:
        return
    for roles in PAIRS if "chosen" in spelled else COMPLETIONS:
        if spelled.keys() >= set(roles):
            yield from _aligned({role: spelled[role] for role in roles}, data)


def _aligned(spelled: Mapping[ColumnRole, Spelled], data: DataProfile) -> Iterator[ColumnReading]:
    parts: dict[ColumnRole, RowExpression] = {role: part for role, (part, _) in spelled.items()}
    implicit = "prompt" not in parts
    if implicit and any(part.kind == "text" for part in parts.values()):
        return
    roles = tuple(parts)
    yield ColumnReading(
        what=f"{_listed(roles)} as messages.",
        parts=parts,
        helpers=tuple(dict.fromkeys(text for _, helpers in spelled.values() for text in helpers)),
        uses=tuple(dict.fromkeys(name for name in ("prompt", *roles) if name in data.columns)),
        needs=roles,
        pair=tuple(role for role in roles if role in ("chosen", "rejected")),
        implicit=implicit,
    )


def _spelled(data: DataProfile, name: str) -> Spelled | None:
    if spelled := spell(data, name):
        return spelled
    return (RowExpression(cell(name)), ()) if data.forms[name] == "text" else None


def read_prompts(data: DataProfile) -> Iterator[Reading]:
    """Yield prompts that are there, beside columns that are in their way."""
    if "prompt" not in data.columns or not (spelled := _spelled(data, "prompt")):
        return
    part, helpers = spelled
    found = ColumnReading(
        what="The prompt, without columns that the trainer would take for its own.",
        parts={"prompt": part},
        helpers=helpers,
        uses=("prompt",),
        needs=("prompt",),
    )
    if data.forms.get("solution") == "number":
        found = add(found, found.what, {"completion": RowExpression(f"str({cell('solution')})")}, "solution")
    yield found


def _listed(names: tuple[str, ...]) -> str:
    spelled = [f"`{name}`" for name in names]
    return " and ".join([", ".join(spelled[:-1]), spelled[-1]])


def read_turns(data: DataProfile) -> Iterator[Reading]:
    """Yield conversations, whatever their column is called and however they are spelled."""
    spelled = {name: turns for name in data.columns if (turns := spell(data, name)) and data.forms[name] != "turn"}
    whole = [name for name in spelled if name not in (*NOT_WHOLE, "prompt", *ANSWERS)]
    if len(whole) > 1:
        if "messages" not in whole:
            yield Uncertainty(f"`{whole[0]}` and `{whole[1]}` could each be the conversation")
            return
        whole = ["messages"]
    if not whole:
        strange = [f"`{name}`" for name in data.shape.roles if role_of(name) is None]
        if strange and data.shape.turns:
            yield Uncertainty(f"in `{data.shape.turns[0]}`, it is not certain who {', '.join(strange)} would be")
        return
    part, helpers = spelled[whole[0]]
    yield _with_tools(data, _with_system(data, whole[0], ColumnReading(
        what=f"Messages by role and content, from `{whole[0]}`.",
        parts={"messages": part},
        helpers=helpers,
        # A prompt beside it is not read, and so has to be in it.
        uses=(whole[0], *data.texts("prompt")),
        needs=(whole[0],),
        turns=part.code if part.kind == "chat" else "",
    )))  # fmt: skip


def read_asked(data: DataProfile) -> Iterator[Reading]:
    """Yield conversations that end before an answer, which make prompts."""
    for found in read_turns(data):
        if isinstance(found, ColumnReading):
            name = found.needs[0]
            parts: dict[ColumnRole, RowExpression] = {"prompt": found.parts["messages"]}
            yield replace(found, what=f"The prompt, from the messages in `{name}`.", parts=parts)


def read_judged(data: DataProfile) -> Iterator[Reading]:
    """Yield conversations whose last answer is good, or not."""
    label = find_label(data, ())
    if isinstance(label, Uncertainty):
        yield label
    elif label:
        name, code = label
        for found in read_turns(data):
            what = f"A conversation, and by `{name}` whether its last answer is good."
            yield add(found, what, {"label": code}, marks=(name,)) if isinstance(found, ColumnReading) else found


def read_continued(data: DataProfile) -> Iterator[Reading]:
    """Yield conversations that end before two answers to compare, each of which stands in a column of its own."""
    answers = {name: answer for name in ("chosen", "rejected") if (answer := _answer(data, name))}
    spelled = {name: turns for name in data.columns if name not in answers and (turns := spell(data, name))}
    if (
        len(answers) != len(("chosen", "rejected"))
        or len(spelled) != 1
        or data.texts("system", "system_prompt", "prompt")
    ):
        return
    (name, (part, helpers)), pair = *spelled.items(), tuple(answers)
    yield ColumnReading(
        what=f"The conversation of `{name}`, and the answers `chosen` and `rejected`.",
        parts={"prompt": part, "chosen": answers["chosen"], "rejected": answers["rejected"]},
        helpers=helpers,
        uses=(name, *pair),
        needs=(name, *pair),
        pair=pair,
    )


def _answer(data: DataProfile, name: str) -> RowExpression | None:
    """Return the text of one answer: of a text, or of a message of the assistant's alone."""
    values = data.values(name) if name in data.columns else []
    if values and all(isinstance(value, str) for value in values):
        return RowExpression(cell(name))
    for role, content in (("from", "value"), ("role", "content")):
        if values and all(
            isinstance(value, dict) and role_of(value.get(role)) == "assistant" and isinstance(value.get(content), str)
            for value in values
        ):
            return RowExpression(f'{cell(name)}["{content}"]')
    return None


def _with_system(data: DataProfile, name: str, reading: ColumnReading) -> ColumnReading:
    """Return the conversation with the system message that stands beside it, where it has none itself."""
    systems = data.texts("system", "system_prompt")
    spoken = [turn for value in data.values(name) if isinstance(value, list) for turn in value]
    if len(systems) != 1 or any(isinstance(turn, dict) and "system" in turn.values() for turn in spoken):
        return reading
    lines = (
        f"messages = {reading.parts['messages'].code}",
        f"if {cell(systems[0])}:",
        f'    messages = [{{"role": "system", "content": {cell(systems[0])}}}, *messages]',
    )
    parts: dict[ColumnRole, RowExpression] = {"messages": RowExpression("messages", "chat")}
    return replace(reading, parts=parts, lines=lines, uses=(*reading.uses, systems[0]))


def _with_tools(data: DataProfile, reading: ColumnReading) -> ColumnReading:
    if "tools" in data.columns:
        return add(reading, reading.what, {"tools": RowExpression(cell("tools"), "plain")})
    if "functions" not in data.columns or data.forms["functions"] not in ("text", "other"):
        return reading
    listed = f"json.loads({cell('functions')})" if data.forms["functions"] == "text" else cell("functions")
    code = f'json.dumps([{{"type": "function", "function": function}} for function in {listed} or []])'
    return add(reading, reading.what, {"tools": RowExpression(code, "plain")})
