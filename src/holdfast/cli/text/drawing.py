"""What rich draws, as text."""

from io import StringIO
from shutil import get_terminal_size
from typing import Final

from rich.console import Console, RenderableType

WIDEST: Final = 140  # columns; a line of more is hard to follow
NARROWEST: Final = 80


def drawn(picture: RenderableType) -> str:
    """Return a picture as text with colours, as wide as the terminal, within reason."""
    width = min(max(get_terminal_size((WIDEST, 0)).columns, NARROWEST), WIDEST)
    console = Console(file=StringIO(), width=width, force_terminal=True, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(picture)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
