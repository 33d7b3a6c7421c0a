"""What a run says of the rehearsal before it."""

from holdfast.results.rehearse import RehearseResult


def summarize_rehearsal(result: RehearseResult) -> str:
    """Return a result in one line: `passes in 9.3 s; not rehearsed: fp16`."""
    took = f"{result.elapsed_s:.1f} s"
    if failure := result.failure:
        limit = "" if failure.refuses else f" ({failure.over or 'when started again'}, which does not block a run)"
        return f"fails in {took}: {failure.name} in `{failure.stage}`{limit}"
    missed = [f"`{each.name}`" for each in result.stages if each.missed]
    omitted = ", ".join([*missed, *(each.what for each in result.not_rehearsed)])
    return f"passes in {took}" + (f"; not rehearsed: {omitted}" if omitted else "")
