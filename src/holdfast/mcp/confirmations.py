"""What a person agrees to before it happens: a confirmation is for one call with one content, and is taken once."""

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import dumps
from typing import Final

from holdfast.core.errors import UsageError
from holdfast.mcp.messages import EffectsCall
from holdfast.results import Json
from holdfast.results.run import RunEffects

VALID_S: Final = 900.0
ELSEWHERE: Final = "start a job elsewhere, which may cost money"


@dataclass(slots=True)
class Confirmations:
    """The confirmations that were given out.

    Attributes:
        allow_push: Pushes need none.
        allow_usd: Jobs that cost no more than this, all together, need none.
    """

    allow_push: bool = False
    allow_usd: float = 0.0
    _open: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])

    def demand(self, call: EffectsCall, effects: RunEffects) -> Json | None:
        """Return what a person has to agree to, with a confirmation; None if there is nothing, or if the allowance pays for it."""
        will = [*self._concerns(effects)]
        if not will or (effects.costs and len(will) == 1 and self._pay(effects.most_usd)):
            return None
        confirmation = secrets.token_urlsafe(16)
        self._open[confirmation] = (_content(call, effects), time.monotonic() + VALID_S)
        return {
            "schema": 1,
            "verb": call.verb,
            "needs_confirmation": {
                "will": will,
                "confirmation": confirmation,
                "valid_s": VALID_S,
                "how": f"ask the user; if they agree, call `{call.verb}` again with the same arguments and this confirmation",
            },
        }

    def take(self, confirmation: str, call: EffectsCall, effects: RunEffects) -> None:
        """Use up a confirmation.

        Raises:
            UsageError: It is unknown, was used, is too old, or is for something else.
        """
        content, until_s = self._open.pop(confirmation, ("", 0.0))
        if not content or time.monotonic() > until_s:
            raise _refusal("the confirmation is unknown, too old, or was used before")
        if content != _content(call, effects):
            raise _refusal("the confirmation is for something else: the job, its files or its arguments changed since")

    def _pay(self, usd: float | None) -> bool:
        """Take what a job may cost from the allowance; False if that is not known, or too much."""
        if usd is None or not usd <= self.allow_usd:  # not ">": of what is no number, all is false
            return False
        self.allow_usd -= usd
        return True

    def _concerns(self, effects: RunEffects) -> Iterator[str]:
        if effects.costs:
            yield _cost(effects)
        if effects.pushes and not self.allow_push:
            yield f"push to the Hub: {', '.join(effects.pushes)}"
        if effects.accepts:
            yield f"continue from a checkpoint that was saved with other settings: {'; '.join(effects.accepts)}"


def _cost(effects: RunEffects) -> str:
    if not effects.backend:
        return ELSEWHERE
    limit = "how much is not known" if effects.most_usd is None else f"at most about ${effects.most_usd:.2f}"
    return f"use {effects.backend}, which costs money: {limit}"


def _content(call: EffectsCall, effects: RunEffects) -> str:
    """Return all that a person agrees to: the call with its arguments, and what it does."""
    return dumps([call.verb, dict(call.arguments), effects.digest, *effects.pushes, *effects.accepts], sort_keys=True)


def _refusal(what: str) -> UsageError:
    return UsageError(what, where="confirmation", fix="call without it for a new one, and ask the user again")
