"""Events as JSON: the form in which the ledger holds them."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from holdfast.core.errors import LedgerError
from holdfast.core.run.event import (
    ChangesAccepted,
    Closed,
    Delivered,
    Diagnosed,
    Event,
    ModelEvaluated,
    ModelExported,
    Polled,
    Remedied,
    Reported,
    ReportsLost,
    RunRequested,
    RunScheduled,
    Started,
    Starting,
    StopRequested,
    TroubleNoted,
)

KINDS: Mapping[str, type[Event]] = {
    "requested": RunRequested,
    "scheduled": RunScheduled,
    "starting": Starting,
    "started": Started,
    "reported": Reported,
    "reports_lost": ReportsLost,
    "polled": Polled,
    "stop_requested": StopRequested,
    "changes_accepted": ChangesAccepted,
    "diagnosed": Diagnosed,
    "remedied": Remedied,
    "trouble_noted": TroubleNoted,
    "delivered": Delivered,
    "model_evaluated": ModelEvaluated,
    "model_exported": ModelExported,
    "closed": Closed,
}
"""Events by the word that the ledger keeps for each."""
WORDS: Mapping[type[Event], str] = {kind: word for word, kind in KINDS.items()}


def event_to_json(event: Event) -> tuple[str, dict[str, Any]]:
    """Return an event's kind and its fields, ready for JSON.

    >>> event_to_json(ChangesAccepted(at_s=1, settings={"max_grad_norm": float("inf")}))[1]["settings"]
    {'max_grad_norm': 'inf'}
    """
    return WORDS[type(event)], _spelled(msgspec.to_builtins(event, enc_hook=str))


def _spelled(value: Any) -> Any:
    """Return a value with its numbers that are not finite as texts: JSON has no word for them."""
    if isinstance(value, dict):
        return {key: _spelled(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_spelled, value)]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def event_from_json(kind: str, fields: Mapping[str, Any]) -> Event:
    """Return the event that `event_to_json` gave this kind and these fields of.

    Raises:
        LedgerError: The kind is unknown, or a field is missing, of the wrong type, or a time that no calendar has.
    """
    if kind not in KINDS:
        raise LedgerError(f"unknown event {kind!r}", where="the ledger", fix="use the holdfast version that wrote it")
    try:
        return msgspec.convert(dict(fields), KINDS[kind])
    except msgspec.ValidationError as error:
        raise LedgerError(f"damaged event {kind!r}: {error}", where="the ledger", fix="the event is left out") from None
