"""Whether a merged model is the one that was trained."""

from collections.abc import Iterator
from typing import Final

from holdfast.core.export import MergeAnswer
from holdfast.results.export import ExportCheck

SAME: Final = 1e-3
"""The relative difference of logits that arithmetic in float32 makes."""
ROUNDED: Final = 0.05
"""The relative difference of logits that rounding weights to 16 bits makes."""
FULL: Final = "float32"


def merge_checks(answer: MergeAnswer, size: int) -> list[ExportCheck]:
    """Return the proofs of merged or copied weights.

    Args:
        answer: What was measured.
        size: Their size in bytes.
    """
    weights = ExportCheck(
        name="weights",
        verdict="pass" if answer.finite else "fail",
        value=float(size),
        because="all weights are loaded, and give numbers" if answer.finite else "some logits are not numbers",
    )
    return [weights] if answer.precision == "copied" else [weights, _logits_check(answer)]


def _logits_check(answer: MergeAnswer) -> ExportCheck:
    if answer.relative is None or answer.saved_difference is None:
        unmeasured = "the logits cannot be compared: some are not numbers"
        return ExportCheck(name="logits", verdict="fail", value=None, because=unmeasured)
    allowed = _allowed(answer.precision)
    kept = max(allowed, _allowed(answer.dtype))
    because = (
        f"before and after merging in {answer.precision}: apart by {answer.relative:.1e} of their variation (allowed: {allowed:g}), "
        f"the same likeliest token at {answer.agreement or 0.0:.1%} of positions; once saved as {answer.dtype}: "
        f"{answer.saved_difference:.1e} (allowed: {kept:g})"
    )
    fine = answer.relative <= allowed and answer.saved_difference <= kept
    value = max(answer.relative, answer.saved_difference)
    return ExportCheck(name="logits", verdict="pass" if fine else "fail", value=value, because=because)


def _allowed(precision: str) -> float:
    """Return the relative difference of logits that a precision makes."""
    return SAME if precision == FULL else ROUNDED


def merge_notes(answer: MergeAnswer, *, adapters: bool) -> Iterator[str]:
    """Yield what is worth knowing of a merge."""
    if adapters and answer.effect == 0.0:
        yield "the adapter changes nothing: its weights are those that it started from"
    if adapters and answer.precision not in (FULL, "copied"):
        yield f"merged in {answer.precision}, since float32 does not fit into the free memory"
    if answer.resized:
        yield f"the embeddings have {answer.resized} rows more than those of the base"
