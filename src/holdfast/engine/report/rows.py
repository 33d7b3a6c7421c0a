"""The rows that a run trained on, in words: the account that the script of a job file writes (`results/data.json`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.engine.units import render_counted

MOST_STRATA = 8
"""Values of a column that are listed."""


def describe_rows(account: Mapping[str, Any]) -> str:
    """Return how rows were chosen, and how many there are.

    >>> describe_rows({"strategy": "stratified by topic", "seed": 7, "rows": 90, "of": 400, "strata": {"math": 60, "code": 30}})
    '90 rows of 400, stratified by topic, seed 7 (math 60, code 30)'
    """
    rows, whole = account.get("rows"), account.get("of")
    count = render_counted(rows, "row") if isinstance(rows, int) else ""
    of = f" of {whole:,}" if isinstance(whole, int) else ""
    seed = f"seed {account['seed']}" if "seed" in account else ""
    parts = "; ".join(_describe_part(each) for each in account.get("datasets", ()))
    within = f" ({parts or _list_strata(account)})" if parts or account.get("strata") else ""
    return ", ".join(filter(None, [f"{count}{of}", str(account.get("strategy", "")), seed])) + within


def _describe_part(part: Mapping[str, Any]) -> str:
    """Return what a mixture has of one dataset."""
    strata = f", {_list_strata(part)}" if part.get("strata") else ""
    return f"{part.get('dataset')} {part.get('rows')} of {part.get('of')}{strata}"


def _list_strata(account: Mapping[str, Any]) -> str:
    return ", ".join(_strata(account.get("strata", {})))


def _strata(counts: Mapping[str, int]) -> Iterator[str]:
    listed = list(counts.items())
    yield from (f"{name} {count}" for name, count in listed[:MOST_STRATA])
    if listed[MOST_STRATA:]:
        yield f"{len(listed) - MOST_STRATA} more"
