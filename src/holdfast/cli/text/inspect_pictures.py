"""Pictures of tokens for the terminal: values in, things that rich prints out."""

from rich.text import Text

from holdfast.core.rows.scan import MaskedRow
from holdfast.engine.tokens.picture import Bar, draw_bars, draw_row
from holdfast.results.inspect import TokenReport

WIDTH = 40
"""Characters of the longest bar."""
EIGHTHS = " ▏▎▍▌▋▊▉"
STYLES = {"learned": "bold green", "context": "dim", "cut": "strike red"}
SIGNS = {"learned": ("«", "»"), "context": ("", ""), "cut": ("⟨cut: ", "⟩")}
"""What surrounds a run of tokens, so that it can be recognized without colours."""


def draw_histogram(tokens: TokenReport, *, width: int = WIDTH) -> Text:
    """Return the lengths of rows as text, one line per bar; those beyond `max_length` in another colour.

    Args:
        tokens: What was counted.
        width: Characters of the longest bar.
    """
    bars = draw_bars(tokens)
    names = [f"{bar.low}-{bar.high}" for bar in bars]
    wide = max(map(len, names), default=0)
    many = max((len(str(bar.rows)) for bar in bars), default=0)
    lines = [
        Text.assemble(
            f"{name:>{wide}} {bar.rows:>{many}} ", (_block(bar, width), "red" if bar.over else "green"), end=""
        )
        for name, bar in zip(names, bars, strict=True)
    ]
    if tokens.max_length is not None:
        lines.append(Text(f"{tokens.truncated} of {tokens.rows} rows are cut at max_length {tokens.max_length}"))
    return Text("\n").join(lines)


def draw_mask(row: MaskedRow) -> Text:
    """Return a sample row: between « and » what is trained on, the rest as context, and what is cut off."""
    view = draw_row(row)
    picture = Text(f"row {view.row}, {view.part}: {view.learned} of {view.kept} tokens are trained on\n")
    for run in view.runs:
        before, after = SIGNS[run.role]
        picture.append(f"{before}{_printable(run.text)}{after}", STYLES[run.role])
    if view.left:
        picture.append(f"\n… {view.left} more tokens")
    return picture


def _block(bar: Bar, width: int) -> str:
    """Return a bar, to an eighth of a character; a bar with at least one row is never empty."""
    eighths = max(round(bar.share / 100 * width * 8), 1 if bar.rows else 0)
    whole, part = divmod(eighths, 8)
    return "█" * whole + EIGHTHS[part].strip()


def _printable(text: str) -> str:
    """Return a text without control characters."""
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in text
    )
