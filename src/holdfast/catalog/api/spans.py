"""In which releases something is there, seen from the versions at hand."""

from collections.abc import Sequence

from holdfast.catalog.api import Api, released
from holdfast.core.job.api import Span


def gone_since(api: Api, path: str, name: str) -> Span | None:
    """Return the last releases that took an argument, before the versions at hand; None if none did."""
    return _nearest(api, api.parameter_spans(path, name), before=True)


def comes_with(api: Api, path: str, name: str) -> Span | None:
    """Return the first releases that take an argument, after the versions at hand; None if none do."""
    return _nearest(api, api.parameter_spans(path, name), before=False)


def span_before(api: Api, spans: tuple[Span, ...]) -> Span | None:
    """Return the last of the spans that had ended at the versions at hand."""
    return _nearest(api, spans, before=True)


def span_after(api: Api, spans: tuple[Span, ...]) -> Span | None:
    """Return the first of the spans that had not begun at the versions at hand."""
    return _nearest(api, spans, before=False)


def spell(versions: Sequence[str], first: str, last: str) -> str:
    """Return which of some versions, oldest first, lie between two; empty if all do.

    >>> versions = ["0.7.0", "0.8.0", "0.9.0", "0.10.0"]
    >>> [spell(versions, *ends) for ends in (("0.7.0", "0.9.0"), ("0.8.0", "0.9.0"), ("0.8.0", "0.10.0"), ("0.9.0", "0.9.0"))]
    ['up to 0.9.0', '0.8.0 to 0.9.0', 'since 0.8.0', '0.9.0']
    """
    if first == last:
        return first
    if last == versions[-1]:
        return "" if first == versions[0] else f"since {first}"
    return f"up to {last}" if first == versions[0] else f"{first} to {last}"


def _nearest(api: Api, spans: tuple[Span, ...], *, before: bool) -> Span | None:
    found = [(span, _place(api, span)) for span in spans]
    if any(place == 0 for _, place in found):
        return None  # they take it now: what refuses it is not the history's to tell
    sided = [span for span, place in found if place == (-1 if before else 1)]
    return (sided[-1] if before else sided[0]) if sided else None


def _place(api: Api, span: Span) -> int | None:
    """Return -1 for a span that is over at the versions at hand, 1 for one still to come, 0 for one that holds."""
    releases, here = released(span.package), api.versions.get(span.package)
    if here is None or here not in releases:
        return None
    now = releases.index(here)
    if releases.index(span.first) > now:
        return 1
    return -1 if span.after is not None and releases.index(span.after) <= now else 0
