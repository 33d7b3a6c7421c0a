"""One row as the model is shown it: its tokens, which of them are learned from, and which are cut off."""

from holdfast.core.errors import SourceError
from holdfast.core.rows.scan import MaskedRow, TokenPiece
from holdfast.engine.tokens.cutting import kept_span
from holdfast.engine.tokens.preparing import Sequenced, prepare_rows
from holdfast.engine.tokens.reading import Row, look_at
from holdfast.engine.tokens.recipe import Recipe
from holdfast.ports import Tokenizer


def show_row(number: int, row: Row, tokenizer: Tokenizer, recipe: Recipe) -> list[MaskedRow]:
    """Return a row as the model is shown it: one text, or both of a pair.

    Args:
        number: The row's, counted from 0.
        row: Its values.
        tokenizer: The model's.
        recipe: How the trainer makes tokens.

    Raises:
        SourceError: The template or the tokenizer raises on it.
    """
    prepared = prepare_rows([(number, row)], look_at(row, recipe), recipe, tokenizer)
    for why in prepared.failed.values():
        raise SourceError(why, where=f"row {number}", fix="correct the row, or the chat template")
    return [_masked(sequence, tokenizer, recipe) for sequence in prepared.sequences]


def _masked(sequence: Sequenced, tokenizer: Tokenizer, recipe: Recipe) -> MaskedRow:
    low, high = kept_span(sequence, recipe)
    mask = sequence.mask or [1] * len(sequence.ids)
    pieces: list[TokenPiece] = []
    at = 0
    for text, count in tokenizer.pieces(sequence.ids):
        learned = not recipe.method.generates and at >= sequence.start and bool(mask[at])
        pieces.append(TokenPiece(text, learned=learned, kept=low <= at < high))
        at += count
    return MaskedRow(sequence.row, sequence.part, tuple(pieces))
