"""Pictures of tokens: how long rows are, and what of a row is learned from. Pure: values in, text out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from holdfast.core.rows.scan import MaskedRow, TokenPiece, render_share
from holdfast.engine.report.page import TEMPLATES
from holdfast.results.inspect import TokenReport

SHOWN = 1500
"""Pieces of a row that are drawn; more would be a wall of text."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the histogram.

    Attributes:
        low: Least length in it, in tokens.
        high: Greatest.
        rows: How many rows are so long.
        share: Of the highest bar, in percent.
        over: Whether all of it is longer than `max_length`.
    """

    low: int
    high: int
    rows: int
    share: float
    over: bool


@dataclass(frozen=True, slots=True)
class PieceRun:
    """Pieces in a row that are alike.

    Attributes:
        role: `learned`, `context` or `cut`.
        text: What they stand for.
    """

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class SamplePicture:
    """A sample row, ready to be drawn.

    Attributes:
        row: Its number, counted from 0.
        part: The column that it ends with.
        runs: Its text, in runs of one role.
        learned: Pieces that are learned from and kept.
        kept: Pieces that are kept.
        left: Pieces that are not drawn.
    """

    row: int
    part: str
    runs: tuple[PieceRun, ...]
    learned: int
    kept: int
    left: int


def draw_bars(tokens: TokenReport) -> tuple[Bar, ...]:
    """Return the histogram's bars, shortest rows first; none for lengths that that was not counted."""
    return tuple(_bars(tokens))


def _bars(tokens: TokenReport) -> Iterator[Bar]:
    highest = max((rows for _, rows in tokens.histogram), default=0)
    low = 0
    for bound, rows in tokens.histogram:
        over = tokens.max_length is not None and low > tokens.max_length
        yield Bar(low, bound, rows, round(100 * rows / highest, 2) if highest else 0.0, over)
        low = bound + 1


def role_of(piece: TokenPiece) -> str:
    """Return the role of a piece."""
    return ("learned" if piece.learned else "context") if piece.kept else "cut"


def draw_row(row: MaskedRow) -> SamplePicture:
    """Return a sample row as runs of one role each.

    >>> draw_row(MaskedRow(0, "text", (TokenPiece("a", True), TokenPiece("b", True), TokenPiece("c", False)))).runs
    (PieceRun(role='learned', text='ab'), PieceRun(role='context', text='c'))
    """
    shown = row.pieces[:SHOWN]
    grouped = groupby(shown, role_of)
    return SamplePicture(
        row=row.row,
        part=row.part,
        runs=tuple(PieceRun(role, "".join(piece.text for piece in run)) for role, run in grouped),
        learned=sum(piece.learned and piece.kept for piece in row.pieces),
        kept=sum(piece.kept for piece in row.pieces),
        left=len(row.pieces) - len(shown),
    )


def figure_lines(tokens: TokenReport) -> tuple[tuple[str, str, str], ...]:
    """Return the figures that go above a picture: name, value, and a note."""
    rows = tokens.rows
    sample = f"of {tokens.of}" if tokens.of is not None and tokens.of > rows else ""
    return (
        ("rows", f"{rows}", sample),
        ("half have up to", f"{tokens.p50}", "tokens"),
        ("95 in 100 up to", f"{tokens.p95}", "tokens"),
        ("longest", f"{tokens.max}", "tokens"),
        *_special_figures(tokens, sum(count for _, count in tokens.histogram)),
    )


def _special_figures(tokens: TokenReport, counted: int) -> Iterator[tuple[str, str, str]]:
    """Yield the figures that only some data has; `counted` is how many rows have a length."""
    rows = tokens.rows
    if 0 < counted < rows:
        yield "not counted", f"{rows - counted}", "that cannot be tokenized"
    if tokens.max_length is not None:
        yield "cut", render_share(tokens.truncated, rows), f"at max_length {tokens.max_length}"
    if tokens.dropped:
        yield "left out", render_share(tokens.dropped, rows), "by the trainer"
    if tokens.packed is not None:
        yield "packs filled", f"{100 * tokens.packed:.0f} %", f"{tokens.units} packs"
    if tokens.steps is not None:
        yield "steps", f"{tokens.steps}", "of the optimizer"


def render_page(title: str, tokens: TokenReport, rows: Sequence[MaskedRow] = ()) -> str:
    """Return the pictures as one HTML page. It needs nothing beside itself: no network, no script, no font."""
    views = tuple(draw_row(row) for row in rows)
    template = TEMPLATES.get_template("tokens.html.jinja")
    figures = figure_lines(tokens)
    return template.render(title=title, tokens=tokens, bars=draw_bars(tokens), views=views, figures=figures)
