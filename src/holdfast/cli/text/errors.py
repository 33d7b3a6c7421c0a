"""What was wrong with a command, as text."""

from collections.abc import Sequence

from click import style

from holdfast.core.errors import HoldfastError


def render_errors(errors: Sequence[HoldfastError]) -> str:
    """Return everything that was wrong with a command: what, where, and how to fix it."""
    lines = [
        f"{style('error:', fg='red', bold=True)} {style(error.what, bold=True)}\n"
        f"  {style('where:', dim=True)} {error.where}\n"
        f"  {style('fix:', dim=True)}   {error.fix}"
        for error in errors
    ]
    return "\n".join(lines)
