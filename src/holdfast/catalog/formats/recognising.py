"""What TRL would take a dataset for, in the words of its documentation."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from holdfast.catalog.formats.forms import Form, Forms, forms_of, settle
from holdfast.catalog.formats.settings import DEFAULTS, ColumnSettings
from holdfast.catalog.formats.unread import find_repeats
from holdfast.catalog.formats.words import IMAGES
from holdfast.core.rows.columns import ListOf, Struct, Type, scalars_of
from holdfast.core.rows.shape import DatasetType, RowFormat, Shape

READ: Final = ("messages", "conversations", "prompt", "completion", "chosen", "rejected")
TURNS: Final[frozenset[Form]] = frozenset(("chat", "shared", "silent", "turn"))
TRANSCRIPT: Final = re.compile(r"\s*Human:.*\n\nAssistant:", re.DOTALL)
"""How hh-rlhf writes a conversation out."""
MESSAGES: Final[frozenset[Form]] = frozenset(("chat", "shared", "unknown"))
WORDS: Final[frozenset[Form]] = frozenset((*MESSAGES, "text"))


def recognise(
    columns: Mapping[str, Type | None], samples: Sequence[Mapping[str, Any]] = (), settings: ColumnSettings = DEFAULTS
) -> Shape:
    """Return the shape that TRL would recognise in a dataset.

    Args:
        columns: Type of each column; None if it is not known.
        samples: Some of its rows, as Python values: they show a type that is not known, and whether pairs of answers begin
            alike.
        settings: `text_field` is the column of plain texts.

    >>> from holdfast.core.rows.columns import STRING
    >>> recognise({"chosen": STRING, "rejected": STRING}).types
    ('preference',)
    """
    settled = settle(columns, samples)
    forms = forms_of(settled)
    read = [name for name in (*READ, settings.text_field) if forms.get(name) in WORDS]
    texts = [name for name in read if forms[name] == "text"]
    turns = tuple(name for name, form in forms.items() if form in TURNS)
    return Shape(
        types=tuple(_types(forms, settings.text_field)),
        format=_format(set(map(forms.__getitem__, read))),
        turns=turns,
        texts=tuple(dict.fromkeys(texts)),
        tools=_has_tools(settled, samples),
        images=tuple(_image_columns(settled)),
        roles=tuple(dict.fromkeys(_roles(turns, samples))),
        transcripts=tuple(name for name in texts if _written_out(name, samples)),
        implicit_prompt=_implies_prompt(forms, samples),
        repeats=find_repeats(forms, samples),
    )


def _image_columns(columns: Mapping[str, Type | None]) -> Iterable[str]:
    return (name for name, kind in columns.items() if name in IMAGES or _holds_images(kind))


def _types(forms: Forms, text_field: str) -> Iterable[DatasetType]:
    """Yield the types, the one that uses most columns first."""
    prompted = forms.get("prompt") in WORDS
    if prompted:
        yield from _types_with_answers(forms)
    if _holds_pairs(forms):
        yield "preference"
    if _reads_whole_texts(forms, text_field):
        yield "language modeling"
    if prompted and not {"prompts", "completions"} & forms.keys():
        yield "prompt-only"


def _types_with_answers(forms: Forms) -> Iterable[DatasetType]:
    """Yield the types of rows that have a prompt and answers to it."""
    if forms.get("completions") in ("texts", "unknown") and "labels" in forms:
        yield "stepwise supervision"
    if forms.get("completion") in WORDS:
        if forms.get("label") in ("flag", "number", "unknown"):
            yield "unpaired preference"
        yield "prompt-completion"


def _holds_pairs(forms: Forms) -> bool:
    return {forms.get("chosen"), forms.get("rejected")} <= WORDS or {"chosen_ids", "rejected_ids"} <= forms.keys()


def _reads_whole_texts(forms: Forms, text_field: str) -> bool:
    return "prompt" not in forms and (
        forms.get("messages") in ("chat", "unknown")
        or forms.get("conversations") in ("shared", "unknown")
        or forms.get(text_field) in ("text", "unknown")
        or forms.get("input_ids") in ("tokens", "unknown")
    )


def _format(forms: set[Form]) -> RowFormat:
    """Return the format of the columns that trainers read; unknown where it is not one and the same."""
    forms = forms - {"unknown"}
    if forms and forms <= {"chat", "shared"}:
        return "conversational"
    return "standard" if forms == {"text"} else "unknown"


def _has_tools(columns: Mapping[str, Type | None], samples: Sequence[Mapping[str, Any]]) -> bool:
    if "tools" in columns:
        return True
    called = any(_calls_tools(kind) for kind in columns.values())
    return called or any(_answers_tools(value) for row in samples for value in row.values())


def _calls_tools(kind: Type | None) -> bool:
    match kind:
        case ListOf(Struct(fields)):
            calls = fields.get("tool_calls") or fields.get("function_call")
            return calls is not None and any(part.word != "null" for part in scalars_of(calls))
        case _:
            return False


def _answers_tools(value: Any) -> bool:
    return any(_role(turn) == "tool" for turn in (value if isinstance(value, list) else ()))


def _roles(columns: Iterable[str], samples: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Yield the role names in the messages of some columns."""
    for value in (row.get(name) for row in samples for name in columns):
        for turn in value if isinstance(value, list) else [value]:
            name = _role(turn)
            if isinstance(name, str):
                yield name


def _role(turn: Any) -> Any:
    """Return who a message is of, by the key of either notation; None of what is no message."""
    return (turn.get("role") or turn.get("from")) if isinstance(turn, Mapping) else None


def _written_out(name: str, samples: Sequence[Mapping[str, Any]]) -> bool:
    texts = [row[name] for row in samples if isinstance(row.get(name), str)]
    return bool(texts) and all(TRANSCRIPT.match(text) for text in texts)


def _holds_images(kind: Type | None) -> bool:
    return kind is not None and any(part.word == "image" for part in scalars_of(kind))


def _implies_prompt(forms: Forms, samples: Sequence[Mapping[str, Any]]) -> bool:
    """Whether pairs of answers hold their prompt, as far as rows show it."""
    if "prompt" in forms or not {"chosen", "rejected"} <= forms.keys():
        return False
    pairs = [(row.get("chosen"), row.get("rejected")) for row in samples]
    comparable = [(one, other) for one, other in pairs if one and other and type(one) is type(other)]
    alike = [one[0] == other[0] for one, other in comparable if isinstance(one, str | list)]
    # Texts that share nothing but their first letter are not rare.
    return not comparable or 2 * sum(alike) >= len(comparable)
