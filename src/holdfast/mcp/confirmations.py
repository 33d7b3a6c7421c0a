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
    """

    allow_push: bool = False
    _open: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])

    def demand(self, call: EffectsCall, effects: RunEffects) -> Json | None:
        """Return what a person has to agree to, with a confirmation; None if there is nothing."""
        will = [*self._concerns(effects)]
        if not will:
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

    def _concerns(self, effects: RunEffects) -> Iterator[str]:
        if effects.costs:
            yield f"use {effects.backend}, which costs money" if effects.backend else ELSEWHERE
        if effects.pushes and not self.allow_push:
            yield f"push to the Hub: {', '.join(effects.pushes)}"
        if effects.accepts:
            yield f"continue from a checkpoint that was saved with other settings: {'; '.join(effects.accepts)}"


def _content(call: EffectsCall, effects: RunEffects) -> str:
    """Return all that a person agrees to: the call with its arguments, and what it does."""
    return dumps([call.verb, dict(call.arguments), effects.digest, *effects.pushes, *effects.accepts], sort_keys=True)


def _refusal(what: str) -> UsageError:
    return UsageError(what, where="confirmation", fix="call without it for a new one, and ask the user again")
