"""What a trainer has the tokenizer write of each row: whole texts or conversations, and the prompts they begin with.

Every function does with a row what TRL does with it, and raises what TRL raises on one that it cannot use.

Source: `_prepare_dataset` of the trainers of TRL 1.16, and its `data_utils`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.core.job.methods import Method
from holdfast.core.text.json_text import parse_json
from holdfast.engine.tokens.recipe import Recipe

Row = Mapping[str, Any]

MESSAGES = ("prompt", "completion", "chosen", "rejected", "messages", "conversations")
"""Columns that may hold lists of messages."""
READ = {
    Method.SFT: ("prompt", "completion", "messages", "conversations", "tools", "chat_template_kwargs", "input_ids",
                 "labels", "completion_mask", "assistant_masks"),
    Method.DPO: ("prompt", "chosen", "rejected", "tools", "chat_template_kwargs"),
    Method.REWARD: ("prompt", "chosen", "rejected", "tools", "chat_template_kwargs", "chosen_ids", "rejected_ids",
                    "chosen_input_ids", "rejected_input_ids"),
    Method.KTO: ("prompt", "completion", "chosen", "rejected", "tools", "chat_template_kwargs"),
    Method.GRPO: ("prompt",),
    Method.RLOO: ("prompt",),
}  # fmt: skip
"""Columns that each trainer makes tokens of, beside that of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizationRequest:
    """What is to be made tokens of, for one row or one half of a pair.

    Attributes:
        row: Number of the row.
        part: The column that it ends with.
        whole: A text, or the messages of a conversation, prompt and answer together.
        prompt: What of it is the prompt; None if it has none.
        options: What the chat template is given.
        opens: Whether the whole is a prompt, which the template is to end with the opening of an answer.
    """

    row: int
    part: str
    whole: Any
    prompt: Any = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    opens: bool = False

    @property
    def is_chat(self) -> bool:
        """Whether the chat template writes it."""
        return not isinstance(self.whole, str)


@dataclass(frozen=True, slots=True)
class TokenizationContext:
    """What the first row tells a trainer of all.

    Attributes:
        columns: Columns that the rows have.
        adds_end: Whether the trainer appends the token that ends a text.
        renames: Whether messages are spelled `from` and `value`, which the trainer rewrites.
        learns_prompts: Whether prompts are learned from as well.
    """

    columns: frozenset[str]
    adds_end: bool
    renames: bool
    learns_prompts: bool


def columns_of(recipe: Recipe) -> tuple[str, ...]:
    """Return the columns that the trainer of a recipe may make tokens of."""
    text = (recipe.text_field,) if recipe.method is Method.SFT else ()
    return (*READ[recipe.method], *text)


def look_at(first: Row, recipe: Recipe) -> TokenizationContext:
    """Return the trainer's conclusions from the first row.

    Raises:
        Exception: What TRL raises on such a row.
    """
    renames = recipe.method is Method.SFT and "input_ids" not in first and _is_from_value(first)
    seen = _renamed(first) if renames else first
    prompts = "prompt" in first and "completion" in first
    return TokenizationContext(
        columns=frozenset(first),
        adds_end=not recipe.method.generates and not is_conversational(seen),
        renames=renames,
        learns_prompts=recipe.method is Method.SFT
        and not (prompts if recipe.completion_only is None else recipe.completion_only),
    )


def is_conversational(row: Row) -> bool:
    """Whether a row holds messages, by the first column that may.

    TRL looks at any one of them; they agree in data that it can train on.

    >>> is_conversational({"prompt": [{"role": "user", "content": "Who?"}]}), is_conversational({"text": "Who?"})
    (True, False)
    """
    found = next(
        (row[name] for name in ("messages", "prompt", "chosen", "completion", "rejected") if name in row), None
    )
    if isinstance(found, list):
        return isinstance(found[0], dict) and "role" in found[0]
    return False


def read_row(
    number: int, row: Row, context: TokenizationContext, recipe: Recipe, eos: str | None
) -> list[TokenizationRequest]:
    """Return the texts that the trainer tokenizes for one row: two for a pair, else one.

    Args:
        number: The row's, counted from 0.
        row: Its values.
        context: What the first row showed.
        recipe: How the trainer makes tokens.
        eos: The token that ends a text.

    Raises:
        Exception: What TRL raises on such a row.
    """
    if recipe.method.generates:
        options = recipe.options
        return [TokenizationRequest(row=number, part="prompt", whole=row["prompt"], options=options, opens=True)]
    options = _options_of(row)
    if recipe.method is Method.SFT:
        return [_read_tuned(number, _renamed(row) if context.renames else row, context, recipe, eos)]
    if recipe.method is Method.REWARD:
        return [_read_judged(number, row, part, context, eos) for part in ("chosen", "rejected")]
    return _read_answers(number, row, context, eos, options)


def extract_prompt(chosen: Sequence[Any], rejected: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Return the common beginning of two answers as their prompt, and the rest of each.

    >>> extract_prompt("The sky is blue.", "The sky is green.")
    {'prompt': 'The sky is', 'chosen': ' blue.', 'rejected': ' green.'}
    """
    shorter = min(len(chosen), len(rejected))
    if not shorter:
        raise UnboundLocalError("an answer is empty, and the prompt is to be taken from both")
    # TRL leaves its loop at the last place where one answer begins with all of the other.
    at = next((place for place in range(shorter) if chosen[place] != rejected[place]), None)
    if at is None:
        at = shorter - 1
    elif chosen[at - 1] == " ":
        at -= 1
    return {"prompt": chosen[:at], "chosen": chosen[at:], "rejected": rejected[at:]}


def _read_answers(
    number: int, row: Row, context: TokenizationContext, eos: str | None, options: Mapping[str, Any]
) -> list[TokenizationRequest]:
    """Return the answers of one row, each after its prompt."""
    pair = row if "prompt" in row else {**row, **extract_prompt(row["chosen"], row["rejected"])}
    parts = ("chosen", "rejected") if {"chosen", "rejected"} <= pair.keys() else ("completion",)
    ended = {part: _ended(pair[part], context, eos) for part in parts}
    prompt = pair["prompt"]
    return [
        TokenizationRequest(row=number, part=part, whole=prompt + ended[part], prompt=prompt, options=options)
        for part in parts
    ]


def _read_tuned(
    number: int, row: Row, context: TokenizationContext, recipe: Recipe, eos: str | None
) -> TokenizationRequest:
    if "prompt" in row:
        answer = row["completion"]
        stays = recipe.text_field in row and context.adds_end and not row[recipe.text_field].endswith(eos)
        prompt, answer = row["prompt"], answer if stays else _ended(answer, context, eos)
        options = _options_of(row) if isinstance(row["prompt"], list) else {}
        return TokenizationRequest(row=number, part="completion", whole=prompt + answer, prompt=prompt, options=options)
    if is_conversational(row):
        return TokenizationRequest(row=number, part="messages", whole=row["messages"], options=_options_of(row))
    text = _ended(row[recipe.text_field], context, eos)
    return TokenizationRequest(row=number, part=recipe.text_field, whole=text)


def _read_judged(
    number: int, row: Row, part: str, context: TokenizationContext, eos: str | None
) -> TokenizationRequest:
    answer = _ended(row[part], context, eos)
    whole = row["prompt"] + answer if "prompt" in row else answer
    return TokenizationRequest(row=number, part=part, whole=whole, options=_options_of(row))


def _ended(text: Any, context: TokenizationContext, eos: str | None) -> Any:
    """Return a text that ends with the token that ends one, where the trainer appends it."""
    return text + eos if context.adds_end and not text.endswith(eos) else text


def _options_of(row: Row) -> dict[str, Any]:
    tools = row.get("tools")
    own = row.get("chat_template_kwargs", {})
    return {"tools": parse_json(tools) if isinstance(tools, str) else tools, **own}


def _is_from_value(row: Row) -> bool:
    turns = row.get("conversations")
    return isinstance(turns, list) and isinstance(turns[0], dict) and {"from", "value"} <= turns[0].keys()


def _renamed(row: Row) -> Row:
    """Return a row whose messages are spelled `role` and `content`."""
    renamed = {name: _respelled(value) if name in MESSAGES else value for name, value in row.items()}
    if "conversations" in renamed:
        renamed["messages"] = renamed.pop("conversations")
    return renamed


def _respelled(turns: Any) -> Any:
    if not isinstance(turns, list):
        return turns
    names = {"from": "role", "value": "content"}
    return [_keyed(turn, names) if isinstance(turn, dict) else turn for turn in turns]


def _keyed(turn: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    moved = {names[name]: turn[name] for name in names if name in turn}
    return {name: value for name, value in turn.items() if name not in names} | moved


def same_options(requests: Iterable[TokenizationRequest]) -> list[tuple[Mapping[str, Any], list[TokenizationRequest]]]:
    """Return the requests grouped by the options for the chat template."""
    groups: dict[str, tuple[Mapping[str, Any], list[TokenizationRequest]]] = {}
    for each in requests:
        plain = not each.options or each.options == {"tools": None}
        key = "" if plain else json.dumps(each.options, sort_keys=True, default=repr)
        groups.setdefault(key, (each.options, []))[1].append(each)
    return list(groups.values())
