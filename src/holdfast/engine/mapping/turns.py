"""Readings of conversations, and of data whose columns have TRL's names and not its spelling."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from holdfast.catalog.formats.words import ANSWERS, SYSTEMS
from holdfast.engine.mapping.conversations import Spelled, all_are, spell
from holdfast.engine.mapping.found import ColumnReading, ColumnRole, DataProfile, RowExpression, Uncertainty, cell
from holdfast.engine.mapping.readings import Reading, add, find_label
from holdfast.engine.mapping.spellings import role_of

PAIRS: Final[tuple[tuple[ColumnRole, ...], ...]] = (("chosen", "rejected"), ("prompt", "chosen", "rejected"))
COMPLETIONS: Final[tuple[tuple[ColumnRole, ...], ...]] = (("prompt", "completion"),)
PAIR: Final = frozenset({"chosen", "rejected"})
NOT_WHOLE: Final = ("context", "history", "input", "tools")
"""Messages that come before an answer which stands elsewhere."""


def read_aligned(data: DataProfile) -> Iterator[Reading]:
    """Yield the readings of columns with TRL's own names, in one spelling."""
    names: tuple[ColumnRole, ...] = ("prompt", *ANSWERS)
    spelled = {name: found for name in names if (found := _spelled(data, name))}
    if len(_helpers(spelled)) > 1:
        return
    for roles in PAIRS if "chosen" in spelled else COMPLETIONS:
        if spelled.keys() >= set(roles):
            yield from _aligned(roles, spelled, data)


def _aligned(
    roles: tuple[ColumnRole, ...], spelled: Mapping[ColumnRole, Spelled], data: DataProfile
) -> Iterator[ColumnReading]:
    parts: dict[ColumnRole, RowExpression] = {role: spelled[role][0] for role in roles}
    implicit = "prompt" not in parts
    if implicit and "text" in {part.kind for part in parts.values()}:
        return
    reading = ColumnReading(
        what=f"{_listed(roles)} as messages.",
        parts=parts,
        helpers=_helpers({role: spelled[role] for role in roles}),
        uses=tuple(dict.fromkeys(filter(data.columns.__contains__, ("prompt", *roles)))),
        needs=roles,
        pair=tuple(filter(PAIR.__contains__, roles)),
        implicit=implicit,
    )
    if "prompt" in parts and parts["prompt"].kind == "chat":
        reading = _with_label(data, _with_system(data, "prompt", reading, "prompt"))
    yield reading


def _with_label(data: DataProfile, reading: ColumnReading) -> ColumnReading:
    """Return a reading of one answer with the label that surely says whether it is good, if there is one."""
    label = find_label(data, reading.uses) if "completion" in reading.parts else None
    if not isinstance(label, tuple):
        return reading
    name, code = label
    return add(reading, reading.what, {"label": code}, marks=(name,))


def _helpers(spelled: Mapping[ColumnRole, Spelled]) -> tuple[str, ...]:
    """Return the definitions that several columns need, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(helpers for _, helpers in spelled.values())))


def _spelled(data: DataProfile, name: str) -> Spelled | None:
    if spelled := spell(data, name):
        return spelled
    return (RowExpression(cell(name)), ()) if data.forms.get(name) == "text" else None


def read_prompts(data: DataProfile) -> Iterator[Reading]:
    """Yield prompts that are there, beside columns that are in their way."""
    spelled = _spelled(data, "prompt")
    if spelled is None:
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
    name = _conversation_column(spelled)
    if isinstance(name, Uncertainty):
        yield name
    elif name is None:
        yield from _unsure_speakers(data)
    else:
        yield _conversation(data, name, spelled[name])


def _conversation_column(names: Iterable[str]) -> str | Uncertainty | None:
    """Return the one of some columns of messages that holds whole conversations; None if none does."""
    whole = [name for name in names if name not in (*NOT_WHOLE, "prompt", *ANSWERS)]
    if len(whole) > 1 and "messages" not in whole:
        return Uncertainty(f"`{whole[0]}` and `{whole[1]}` could each be the conversation")
    return "messages" if "messages" in whole else next(iter(whole), None)


def _unsure_speakers(data: DataProfile) -> Iterator[Uncertainty]:
    """Yield which names of speakers are unknown."""
    strange = [f"`{name}`" for name in data.shape.roles if role_of(name) is None]
    if strange and data.shape.turns:
        yield Uncertainty(f"in `{data.shape.turns[0]}`, it is not certain who {', '.join(strange)} would be")


def _conversation(data: DataProfile, name: str, spelled: Spelled) -> ColumnReading:
    """Return the reading of a column of conversations, with the system message and the tools beside it."""
    part, helpers = spelled
    reading = ColumnReading(
        what=f"Messages by role and content, from `{name}`.",
        parts={"messages": part},
        helpers=helpers,
        # A prompt beside it is not read, and so has to be in it.
        uses=(name, *data.texts("prompt")),
        needs=(name,),
        turns=part.code if part.kind == "chat" else "",
    )
    return _with_tools(data, _with_system(data, name, reading))


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
    values = data.values(name)
    if not values:
        return None
    if all_are(values, str):
        return RowExpression(cell(name))
    for role, content in (("from", "value"), ("role", "content")):
        if all(_is_answer(value, role, content) for value in values):
            return RowExpression(f'{cell(name)}["{content}"]')
    return None


def _is_answer(value: Any, role: str, content: str) -> bool:
    """True of a text message of the assistant's."""
    if not isinstance(value, dict) or not isinstance(value.get(content), str):
        return False
    return role_of(value.get(role)) == "assistant"


def _with_system(data: DataProfile, name: str, reading: ColumnReading, role: ColumnRole = "messages") -> ColumnReading:
    """Return the conversation with the system message that stands beside it, where it has none itself."""
    systems = data.texts(*SYSTEMS)
    spoken = [turn for value in data.values(name) if isinstance(value, list) for turn in value]
    if len(systems) != 1 or any(isinstance(turn, dict) and "system" in turn.values() for turn in spoken):
        return reading
    lines = (
        f"{role} = {reading.parts[role].code}",
        f"if {cell(systems[0])}:",
        f'    {role} = [{{"role": "system", "content": {cell(systems[0])}}}, *{role}]',
    )
    parts: dict[ColumnRole, RowExpression] = {**reading.parts, role: RowExpression(role, "chat")}
    return replace(reading, parts=parts, lines=lines, uses=(*reading.uses, systems[0]))


def _with_tools(data: DataProfile, reading: ColumnReading) -> ColumnReading:
    if "tools" in data.columns:
        return add(reading, reading.what, {"tools": RowExpression(cell("tools"), "plain")})
    if "functions" not in data.columns or data.forms["functions"] not in ("text", "other"):
        return reading
    listed = f"json.loads({cell('functions')})" if data.forms["functions"] == "text" else cell("functions")
    code = f'json.dumps([{{"type": "function", "function": function}} for function in {listed} or []])'
    return add(reading, reading.what, {"tools": RowExpression(code, "plain")})
