"""Rows as the ids that a trainer makes of them, and which of those are learned from.

Source: `_prepare_dataset` of the trainers of TRL 1.16.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any, TypeVar

from holdfast.core.outcome import Raised, outcome_of
from holdfast.engine.tokens.reading import Row, TokenizationContext, TokenizationRequest, read_row, same_options
from holdfast.engine.tokens.recipe import Recipe
from holdfast.engine.tokens.templating import TemplateLoss, find_lost
from holdfast.ports import Tokenizer

T = TypeVar("T")

Made = tuple[list[int], list[int] | None, TemplateLoss | None]
"""The ids of a text, which of them are learned from where not all are, and what the template lost."""
MADE = (("input_ids", ""), ("chosen_ids", "rejected_ids"), ("chosen_input_ids", "rejected_input_ids"))
"""Columns that hold ids already; a trainer takes them as they are."""


@dataclass(frozen=True, slots=True)
class Sequenced:
    """One text as ids.

    Attributes:
        row: Number of the row.
        part: The column that it ends with.
        ids: All of them, before any cut.
        start: Ids before this one are a prompt, which is not learned from.
        mask: 1 for each id that is learned from, as far as it is no prompt, else 0; None if all are.
        prompt: Ids that the prompt alone and the whole have in common; `start`, but where prompts are learned from.
        diverged: Whether the prompt alone has others after them.
        lost: What the chat template lost of the messages; None if they are all there.
    """

    row: int
    part: str
    ids: list[int]
    start: int = 0
    mask: list[int] | None = None
    prompt: int = 0
    diverged: bool = False
    lost: TemplateLoss | None = None

    def labels(self, low: int, high: int) -> list[int]:
        """Return the ids between two places that are learned from."""
        low = max(low, self.start)
        if self.mask is None:
            return self.ids[low:high]
        return [token for token, bit in zip(self.ids[low:high], self.mask[low:high], strict=True) if bit]


@dataclass(slots=True)
class Prepared:
    """What was made of some rows.

    Attributes:
        sequences: The ids; of a pair, both halves one after the other.
        failed: Why there are none of a row, by its number.
    """

    sequences: list[Sequenced] = field(default_factory=list[Sequenced])
    failed: dict[int, str] = field(default_factory=dict[int, str])


def prepare_rows(
    numbered: Iterable[tuple[int, Row]], context: TokenizationContext, recipe: Recipe, tokenizer: Tokenizer
) -> Prepared:
    """Return the ids of some rows, as the trainer of a recipe makes them.

    Args:
        numbered: The rows, each with its number.
        context: What the first row of all showed.
        recipe: How the trainer makes tokens.
        tokenizer: The model's.
    """
    done = Prepared()
    requests: list[TokenizationRequest] = []
    for number, row in numbered:
        read = outcome_of(partial(_read, number, row, context, recipe, tokenizer))
        if isinstance(read, Raised):  # what TRL raises too
            done.failed[number] = name_error(read.error)
        else:
            done.sequences += read[0]
            requests += read[1]
    done.sequences += _encoded(requests, context, recipe, tokenizer, done.failed)
    return done


def _read(
    number: int, row: Row, context: TokenizationContext, recipe: Recipe, tokenizer: Tokenizer
) -> tuple[list[Sequenced], list[TokenizationRequest]]:
    """Return the ids that a row brings along; else the texts to make them of."""
    ids = list(_given_ids(number, row))
    return ids, [] if ids else read_row(number, row, context, recipe, tokenizer.eos)


def name_error(error: Exception) -> str:
    """Return an error on one line, as a traceback ends with it.

    >>> name_error(KeyError("text"))
    "KeyError: 'text'"
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def shared_prefix(some: Sequence[int], others: Sequence[int]) -> int:
    """Return the length of the common prefix of two lists of ids.

    >>> shared_prefix([1, 2, 3], [1, 2, 4, 5])
    2
    """
    if others[: len(some)] == some:
        return len(some)
    return next(at for at, (one, other) in enumerate(zip((*some, None), (*others, None), strict=False)) if one != other)


def _given_ids(number: int, row: Row) -> Iterator[Sequenced]:
    """Yield the ids that a row brings along."""
    for first, second in MADE:
        if first in row:
            yield Sequenced(number, first, row[first], mask=_made_mask(row, row[first]) if not second else None)
            if second:
                yield Sequenced(number, second, row[second])
            return


def _made_mask(row: Row, ids: list[int]) -> list[int] | None:
    beside = {name: row[name] for name in ("labels", "completion_mask", "assistant_masks") if row.get(name) is not None}
    for name, values in beside.items():
        if len(values) != len(ids):  # which a collator makes no batch of
            raise ValueError(f"there are {len(ids)} `input_ids` and {len(values)} `{name}`")
    if "labels" in beside:
        return [int(label >= 0) for label in beside["labels"]]
    return [int(all(bits)) for bits in zip(*beside.values(), strict=True)] if beside else None


def _encoded(
    requests: Sequence[TokenizationRequest],
    context: TokenizationContext,
    recipe: Recipe,
    tokenizer: Tokenizer,
    failed: dict[int, str],
) -> list[Sequenced]:
    """Return the ids of the requests; a row that the template or the tokenizer raises on goes to `failed`."""
    chats = [each for each in requests if each.is_chat]
    texts = [each for each in requests if not each.is_chat]
    wholes: dict[int, Made] = {}
    prompts: dict[int, list[int]] = {}
    for options, group in same_options(chats):
        wholes |= _tried(group, partial(_chats, options=options, recipe=recipe, tokenizer=tokenizer), failed)
        begun = [each for each in group if each.prompt is not None]
        prompts |= _tried(begun, partial(_openings, options=options, tokenizer=tokenizer), failed)
    wholes |= _tried(texts, partial(_texts, tokenizer=tokenizer), failed)
    begun = [each for each in texts if each.prompt is not None]
    prompts |= _tried(begun, partial(_prompts, tokenizer=tokenizer), failed)
    return [
        _sequence(each, wholes[id(each)], prompts.get(id(each)), learns=context.learns_prompts)
        for each in requests
        if each.row not in failed
    ]


def _sequence(request: TokenizationRequest, made: Made, prompt: list[int] | None, *, learns: bool) -> Sequenced:
    ids, mask, lost = made
    begun = shared_prefix(prompt, ids) if prompt is not None else 0
    diverged = prompt is not None and begun < len(prompt)
    return Sequenced(request.row, request.part, ids, 0 if learns else begun, mask, begun, diverged, lost)


def _texts(requests: Sequence[TokenizationRequest], *, tokenizer: Tokenizer) -> list[Made]:
    return [(ids, None, None) for ids in tokenizer.encode([each.whole for each in requests], special=True)]


def _prompts(requests: Sequence[TokenizationRequest], *, tokenizer: Tokenizer) -> list[list[int]]:
    return tokenizer.encode([each.prompt for each in requests], special=True)


def _chats(
    requests: Sequence[TokenizationRequest], *, options: Mapping[str, Any], recipe: Recipe, tokenizer: Tokenizer
) -> list[Made]:
    turns = [_spoken(each.whole) for each in requests]
    given = {"add_generation_prompt": True, **options} if requests[0].opens else options
    rendered = tokenizer.render(turns, given)
    lost = [
        find_lost(each, text, lambda some: tokenizer.render([some], given)[0])
        for each, text in zip(turns, rendered, strict=True)
    ]
    made: Iterable[tuple[list[int], list[int] | None]]
    if recipe.assistant_only and tokenizer.marks:
        made = tokenizer.mark(turns, options)
    else:
        made = zip(tokenizer.encode(rendered, special=False), repeat(None))
    return [(ids, mask, each) for (ids, mask), each in zip(made, lost, strict=True)]


def _openings(
    requests: Sequence[TokenizationRequest], *, options: Mapping[str, Any], tokenizer: Tokenizer
) -> list[list[int]]:
    rendered = tokenizer.render([_spoken(each.prompt) for each in requests], {"add_generation_prompt": True, **options})
    return tokenizer.encode(rendered, special=False)


def _spoken(turns: list[Any]) -> list[Any]:
    """Return the messages, of which there is at least one."""
    if not turns:
        raise IndexError("list index out of range: there is no message")
    return turns


def _tried(
    requests: Sequence[TokenizationRequest],
    make: Callable[[Sequence[TokenizationRequest]], Sequence[T]],
    failed: dict[int, str],
) -> dict[int, T]:
    """Return the results by identity; where the batch raises, they are made one by one to find the items that fail."""
    if not requests:
        return {}
    results = outcome_of(lambda: dict(zip(map(id, requests), make(requests), strict=True)))
    if not isinstance(results, Raised):
        return results
    if len(requests) == 1:
        failed.setdefault(requests[0].row, name_error(results.error))
        return {}
    made: dict[int, T] = {}
    for each in requests:
        made |= _tried([each], make, failed)
    return made
