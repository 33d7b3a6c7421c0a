"""Going through the rows once, and counting what their tokens show."""

import itertools
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from holdfast.core.errors import SourceError
from holdfast.core.job.methods import Method
from holdfast.core.outcome import Raised, outcome_of
from holdfast.core.plan.epoch_steps import count_steps
from holdfast.core.rows.columns import Scalar, Type, scalars_of
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.core.rows.scan import FIRST_ROWS, RowCount, Tokens
from holdfast.core.rows.unpacking import unpackers
from holdfast.engine.tokens.cutting import is_left_out, kept_span
from holdfast.engine.tokens.lengths import count_lengths
from holdfast.engine.tokens.packing import pack_lengths
from holdfast.engine.tokens.preparing import Prepared, Sequenced, prepare_rows
from holdfast.engine.tokens.reading import Row, TokenizationContext, columns_of, look_at
from holdfast.engine.tokens.recipe import Recipe
from holdfast.ports import Batch, Rows, Tokenizer

AT_ONCE = 2000
"""Rows that are tokenized together: enough for the tokenizer's threads, few enough to hold."""
MEDIA = ("image", "audio", "video")


def tokenize_rows(
    rows: Rows | Iterable[Batch],
    tokenizer: Tokenizer,
    recipe: Recipe,
    *,
    limit: int | None,
    of: int | None,
) -> Tokens:
    """Return the tokens of the rows, as the trainer of a recipe makes them.

    Only a few thousand rows are held at a time, and four bytes of each.

    Args:
        rows: The rows, read from front to back.
        tokenizer: The model's.
        recipe: How the trainer makes tokens.
        limit: Tokenize this many rows at most: every k-th of the set where `of` tells how many there are, else the first.
        of: How many rows the training gets; None if they were not counted.

    Raises:
        SourceError: There are no rows, or their tokens are not made by a tokenizer alone.
    """
    tally = _tally_rows(rows, tokenizer, recipe, limit=limit, of=of)
    return tally.tokens(of if of is not None or limit is not None else tally.seen)


def measure_rows(
    rows: Rows | Iterable[Batch], tokenizer: Tokenizer, recipe: Recipe, *, limit: int, of: int
) -> RowLengths:
    """Return how long the rows are that a trainer keeps, as `tokenize_rows` makes tokens of them.

    Raises:
        SourceError: Tokens of a row cannot be made.
    """
    tally = _tally_rows(rows, tokenizer, recipe, limit=limit, of=of)
    found = tally.tokens(of)
    if found.problem:
        raise SourceError(f"the trainer cannot take every row: {found.problem}", where="dataset", fix="inspect it")
    return RowLengths(tokens=sorted(tally.kept), rows=found.rows, units=found.units or 0, packed=found.packed)


def _tally_rows(
    rows: Rows | Iterable[Batch], tokenizer: Tokenizer, recipe: Recipe, *, limit: int | None, of: int | None
) -> "TokenTally":
    tally: TokenTally | None = None
    for numbered in sample_rows(rows, recipe, limit=limit, of=of):
        if tally is None:
            tally = _begun(numbered[0][1], recipe, tokenizer)
        tally.add(prepare_rows(numbered, tally.sight, recipe, tokenizer))
    if tally is None:
        raise SourceError("the dataset has no rows", where="dataset", fix="look at its files")
    return tally


def sample_rows(
    rows: Rows | Iterable[Batch], recipe: Recipe, *, limit: int | None, of: int | None
) -> Iterator[list[tuple[int, Row]]]:
    """Yield rows with their numbers, some at a time, of the columns that the trainer makes tokens of.

    Args:
        rows: All rows.
        recipe: Whose trainer.
        limit: How many are wanted at most.
        of: How many there are; None if they were not counted.

    Raises:
        SourceError: The trainer reads none of the columns, or one holds images, which a processor makes tokens of.
    """
    known, batches = ({}, rows) if isinstance(rows, Iterable) else (rows.columns, rows.batches())
    unpacking = unpackers({name: known[name] for name in columns_of(recipe) if name in known})
    stride = _stride(limit, of)
    left = sys.maxsize if limit is None else limit
    for batch in batches:
        first = -batch.start % stride
        frame = batch.frame.select(_wanted_columns(batch, recipe, known)).gather_every(stride, first).head(left)
        left -= frame.height
        yield from _numbered(frame, batch.start + first, stride, unpacking)
        if left == 0:
            return


def _stride(limit: int | None, of: int | None) -> int:
    """Return the number k of which every k-th row is taken."""
    return max(1, -(-of // limit)) if limit and of else 1


def _numbered(
    frame: Any, first: int, stride: int, unpacking: Mapping[str, Callable[[Any], Any]]
) -> Iterator[list[tuple[int, Row]]]:
    """Yield the rows of a frame, some at a time, each with its number: `first` and every `stride`-th after it."""
    numbers = itertools.count(first, stride)
    for at in range(0, frame.height, AT_ONCE):
        yield [(next(numbers), row) for row in _dicts(frame.slice(at, AT_ONCE), unpacking)]


def _wanted_columns(batch: Batch, recipe: Recipe, known: Any) -> list[str]:
    """Return the columns of a batch that the trainer makes tokens of."""
    _check_texts(batch.frame.columns, known)
    read = dict.fromkeys(columns_of(recipe))
    wanted = [name for name in read if name in batch.frame.columns]
    if not wanted:
        fix = f"it reads {', '.join(read)}"
        raise SourceError(f"{recipe.method} finds none of its columns", where="dataset", fix=fix)
    return wanted


def _dicts(frame: Any, unpacking: Mapping[str, Callable[[Any], Any]]) -> list[dict[str, Any]]:
    """Return the rows of a frame as mappings."""
    lists = [frame.get_column(name).to_list() for name in frame.columns]
    lists = [
        list(map(unpacking[name], values)) if name in unpacking else values
        for name, values in zip(frame.columns, lists, strict=True)
    ]
    return [dict(zip(frame.columns, values, strict=True)) for values in zip(*lists, strict=True)]


def _check_texts(columns: Sequence[str], known: Any) -> None:
    types: dict[str, Type] = {name: known.get(name, Scalar("other")) for name in columns}
    media = [name for name, kind in types.items() if any(part.word in MEDIA for part in scalars_of(kind))]
    media += [name for name in ("image", "images") if name in columns and name not in media]
    if media:
        fix = "rehearse the job, which makes them for real"
        raise SourceError(f"a processor makes the tokens of `{media[0]}`, no tokenizer", where=media[0], fix=fix)


def _begun(first: Row, recipe: Recipe, tokenizer: Tokenizer) -> "TokenTally":
    context = outcome_of(partial(look_at, first, recipe))
    if isinstance(context, Raised):  # TRL raises here too; the row is reported when it is read
        context = TokenizationContext(frozenset(first), adds_end=True, renames=False, learns_prompts=True)
    return TokenTally(context, recipe, tokenizer)


@dataclass(slots=True)
class RowNumbers:
    """A number of rows, and the first of them."""

    count: int = 0
    rows: list[int] = field(default_factory=list[int])

    def add(self, row: int, *, when: bool = True) -> None:
        """Count one more, if a condition holds."""
        self.count += when
        if when and len(self.rows) < FIRST_ROWS:
            self.rows.append(row)

    def counted(self) -> RowCount:
        """Return it as a fact."""
        return RowCount(self.count, tuple(sorted(self.rows)))


class TokenTally:
    """What was seen of the tokens of the rows so far."""

    def __init__(self, context: TokenizationContext, recipe: Recipe, tokenizer: Tokenizer) -> None:
        self.sight, self._recipe, self._tokenizer = context, recipe, tokenizer
        self._specials = frozenset(tokenizer.special)
        self._stops = frozenset(tokenizer.stops)
        self._starts = [tokenizer.bos_id] * 2 if tokenizer.bos_id is not None else None
        self._learns = not recipe.method.generates and recipe.method is not Method.REWARD
        self._marked = recipe.assistant_only and tokenizer.marks
        self.seen = self._truncated = self._kept = self._highest = 0
        self._lengths, self._units = array("I"), array("I")
        self.kept = array("I")
        self._endings: Counter[int] = Counter()
        self._masked, self._dropped, self._unended = RowNumbers(), RowNumbers(), RowNumbers()
        self._diverged, self._omitted, self._omitted_last = RowNumbers(), RowNumbers(), RowNumbers()
        self._doubled, self._beyond, self._unmarked = RowNumbers(), RowNumbers(), RowNumbers()
        self._spelled, self._past, self._failed = RowNumbers(), RowNumbers(), RowNumbers()
        self._roles: Counter[str] = Counter()
        self._positions = tokenizer.positions
        self._problems: dict[int, str] = {}

    def add(self, prepared: Prepared) -> None:
        """Count the rows that were made tokens of."""
        for number, why in prepared.failed.items():
            self._failed.add(number)
            if len(self._problems) < FIRST_ROWS:
                self._problems[number] = why
        self.seen += len(prepared.failed)
        pair: list[Sequenced] = []
        for sequence in prepared.sequences:
            if pair and pair[0].row != sequence.row:
                self._add(pair)
                pair = []
            pair.append(sequence)
        if pair:
            self._add(pair)

    def _add(self, parts: list[Sequenced]) -> None:
        """Count one row: one text, or the two of a pair."""
        number, lengths = parts[0].row, [len(part.ids) for part in parts]
        length, limit = max(lengths), self._recipe.max_length
        kept = length if limit is None else min(length, limit)
        longer = kept < length
        self.seen += 1
        self._truncated += longer and self._recipe.cuts
        self._lengths.append(length)
        self._units.extend(lengths)
        self._past.add(number, when=self._is_past_positions(kept))
        self._doubled.add(number, when=self._starts_doubly(parts))
        self._diverged.add(number, when=any(part.diverged for part in parts))
        self._add_lost(number, parts)
        self._add_ids(number, parts)
        if self._learns:
            self._add_labels(number, parts, longer=longer)
        self._add_left(number, parts)

    def _is_past_positions(self, kept: int) -> bool:
        """True if what is kept of a row is longer than the model has positions."""
        return self._positions is not None and not self._recipe.method.generates and kept > self._positions.count

    def _starts_doubly(self, parts: Sequence[Sequenced]) -> bool:
        """True if a text starts with the token that starts one, twice."""
        return self._starts is not None and any(part.ids[:2] == self._starts for part in parts)

    def _add_lost(self, number: int, parts: Sequence[Sequenced]) -> None:
        """Count what the chat template lost of a row."""
        lost = [part.lost for part in parts if part.lost is not None]
        roles = {role for each in lost for role in each.omitted}
        self._roles.update(roles)
        self._omitted.add(number, when=bool(roles))
        self._omitted_last.add(number, when=any(each.last for each in lost))
        self._spelled.add(number, when=any(each.spelled for each in lost))

    def _add_ids(self, number: int, parts: Sequence[Sequenced]) -> None:
        highest = max(max(part.ids, default=0) for part in parts)
        self._highest = max(self._highest, highest)
        size = self._tokenizer.embedding
        self._beyond.add(number, when=size is not None and highest >= size)

    def _add_labels(self, number: int, parts: Sequence[Sequenced], *, longer: bool) -> None:
        """Count what is left to learn from in a row."""
        if self._marked and any(part.mask is not None and 1 not in part.mask for part in parts):
            self._unmarked.add(number)
        labels = [part.labels(*kept_span(part, self._recipe)) for part in parts]
        if not all(labels):
            self._masked.add(number)
        if not longer:
            self._add_end(number, labels[0])

    def _add_left(self, number: int, parts: Sequence[Sequenced]) -> None:
        """Count what the trainer takes of a row: one thing, or each answer where answers stand alone."""
        alone = [[part] for part in parts] if self._recipe.method is Method.KTO else [parts]
        left_out = [is_left_out(some, self._recipe) for some in alone]
        self._kept += left_out.count(False)
        for some, is_out in zip(alone, left_out, strict=True):
            self.kept.extend(() if is_out else (_kept_tokens(part, self._recipe) for part in some))
        if any(left_out):
            self._dropped.add(number)

    def _add_end(self, number: int, labels: Sequence[int]) -> None:
        if self._stops and self._stops.isdisjoint(labels):
            self._unended.add(number)
        last = next((token for token in reversed(labels) if token in self._specials), None)
        if last is not None:
            self._endings[last] += 1

    def tokens(self, of: int | None) -> Tokens:
        """Return all of it.

        Args:
            of: How many rows there are; None if they were not counted.
        """
        units, packed = self._count_units()
        all_units = self._project(units, of)
        return Tokens(
            rows=self.seen,
            of=of,
            lengths=count_lengths(self._lengths),
            max_length=self._recipe.max_length,
            truncated=self._truncated,
            masked=self._masked.counted(),
            dropped=self._dropped.counted(),
            without_end=self._unended.counted(),
            stops=tuple(self._tokenizer.stops.values()),
            turn_end=self._turn_end(),
            doubled_start=self._doubled.counted(),
            beyond=self._beyond.counted(),
            highest=self._highest,
            embedding=self._tokenizer.embedding,
            marks_assistant=self._tokenizer.marks if self._recipe.assistant_only else None,
            unmarked=self._unmarked.counted(),
            units=all_units,
            packed=packed,
            steps=None if self._failed.count else count_steps(self._recipe.schedule, all_units),
            diverged=self._diverged.counted(),
            omitted=self._omitted.counted(),
            omitted_last=self._omitted_last.counted(),
            omitted_roles=tuple(role for role, _ in self._roles.most_common()),
            spelled=self._spelled.counted(),
            positions=self._positions.count if self._positions else None,
            positions_raise=self._positions is not None and self._positions.raises,
            beyond_positions=self._past.counted(),
            failed=self._failed.counted(),
            problems=self._problems,
        )

    def _count_units(self) -> tuple[int, float | None]:
        """Return the number of units in an epoch, of the rows read, and the average fill of packs."""
        if self._recipe.packing and self._recipe.max_length:
            return pack_lengths(self._units, self._recipe.max_length, self._recipe.packing)
        return self._kept, None

    def _project(self, units: int, of: int | None) -> int | None:
        """Return how many units all rows make, if those that were read make `units`; None if the rows were not counted."""
        return round(units * (of / self.seen)) if of is not None and self.seen else None

    def _turn_end(self) -> str:
        """Return the special token that most texts end with; empty if they have none."""
        return "".join(self._tokenizer.special[token] for token, _ in self._endings.most_common(1))


def _kept_tokens(sequence: Sequenced, recipe: Recipe) -> int:
    start, end = kept_span(sequence, recipe)
    return end - start
