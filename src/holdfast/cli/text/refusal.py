"""Why a run was refused, as text."""

from collections.abc import Iterator

from click import style

from holdfast.results.refusal import RunRefusal


def render_refusal(reason: RunRefusal) -> Iterator[str]:
    """Yield the lines of one reason: where, what, and the fix."""
    where = f"{reason.where}: " if reason.where else ""
    yield f"  {where}{style(reason.code, fg='red', bold=True)} {reason.message}"
    if reason.fix:
        yield f"    {style('fix:', fg='green')} {reason.fix}"
