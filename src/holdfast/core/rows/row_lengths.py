"""How many tokens the rows have that a job trains on."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLengths:
    """How many tokens the texts of a dataset have, as the trainer keeps them.

    Attributes:
        tokens: Tokens of each text, in rising order; a row of a preference dataset has two texts.
        rows: How many rows they come from: all, or a sample.
        units: What an epoch goes over: rows, or packs of them.
        packed: Share of the tokens of a pack that rows fill; None if rows are not packed.
    """

    tokens: Sequence[int]
    rows: int
    units: int
    packed: float | None = None

    @property
    def mean(self) -> float:
        """Tokens of a text on average; 0 without texts."""
        return sum(self.tokens) / len(self.tokens) if self.tokens else 0.0

    def mean_longest(self, texts: int) -> float:
        """Return the expected tokens of the longest of so many texts, drawn at random: what a batch of them is padded to.

        >>> lengths = RowLengths(tokens=[10, 20], rows=2, units=2)
        >>> lengths.mean_longest(1), lengths.mean_longest(2), lengths.mean
        (15.0, 17.5, 15.0)
        """
        count = len(self.tokens)
        below = [(place / count) ** texts for place in range(count + 1)]
        return sum(
            length * (up_to - before) for length, before, up_to in zip(self.tokens, below, below[1:], strict=False)
        )
