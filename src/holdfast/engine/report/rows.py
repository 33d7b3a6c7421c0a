"""The rows that a run trained on, in words: the account that the script of a job file writes (`results/data.json`)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holdfast.engine.units import render_counted

MOST_STRATA = 8
"""Values of a column that are listed."""
MOST_OF_PART = 3
"""Those that are listed of each dataset of a mixture."""


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
    said = ", ".join(filter(None, [f"{count}{of}", str(account.get("strategy", "")), seed])) + within
    prepared = account.get("prepared")
    return f"{said}; {describe_preparation(**prepared)}" if prepared else said


def describe_preparation(
    sources: Iterable[Mapping[str, Any]],
    map: Mapping[str, str] | None,  # noqa: A002 - the key of `rows.json`
    chosen: Mapping[str, Any],
) -> str:
    """Return how rows that were kept came to be.

    >>> describe_preparation([{"dataset": "a.jsonl"}], {"function": "fix.py:clean"}, {"strategy": "all rows", "rows": 9})
    'prepared from a.jsonl, rewritten by fix.py:clean: 9 rows, all rows'
    """
    by = f", rewritten by {map.get('function')}" if map else ""
    return f"prepared from {', '.join(str(each.get('dataset')) for each in sources)}{by}: {describe_rows(chosen)}"


def _describe_part(part: Mapping[str, Any]) -> str:
    """Return what a mixture has of one dataset.

    >>> _describe_part({"dataset": "a.jsonl", "rows": 60, "of": 120, "strata": {"1": 15, "2": 15, "3": 15, "4": 15}})
    'a.jsonl 60 of 120, 1 15, 2 15, 3 15, 1 more'
    """
    strata = f", {_list_strata(part, MOST_OF_PART)}" if part.get("strata") else ""
    return f"{part.get('dataset')} {part.get('rows')} of {part.get('of')}{strata}"


def _list_strata(account: Mapping[str, Any], most: int = MOST_STRATA) -> str:
    return ", ".join(_strata(account.get("strata", {}), most))


def _strata(counts: Mapping[str, int], most: int) -> Iterator[str]:
    listed = list(counts.items())
    yield from (f"{name} {count}" for name, count in listed[:most])
    if listed[most:]:
        yield f"{len(listed) - most} more"
