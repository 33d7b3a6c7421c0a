"""The messages between the server and the process that plays one verb: a call one way; progress and an answer the other."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from holdfast.results import Json
from holdfast.results.run import RunEffects

GRACE_S: Final = 5.0
"""Time that an interrupted verb has to clean up."""


class VerbCall(Struct, frozen=True, kw_only=True, tag=True):
    """A verb to play, with its arguments.

    Attributes:
        digest: That of the effects that were agreed to; empty if nothing had to be.
    """

    verb: str
    arguments: Mapping[str, Any]
    digest: str = ""


class EffectsCall(Struct, frozen=True, kw_only=True, tag=True):
    """A verb whose effects are requested, with its arguments."""

    verb: str
    arguments: Mapping[str, Any]


class ProgressNote(Struct, frozen=True, kw_only=True, tag=True):
    """What a verb is doing.

    Attributes:
        message: In words.
    """

    message: str


class VerbAnswer(Struct, frozen=True, kw_only=True, tag=True):
    """What a verb answered: an object, or a text."""

    answer: Json | str


class EffectsAnswer(Struct, frozen=True, kw_only=True, tag=True):
    """What a verb would do."""

    effects: RunEffects


class VerbErrors(Struct, frozen=True, kw_only=True, tag=True):
    """What was wrong with a call.

    Attributes:
        errors: Each error, as `docs/contract.md` shows it.
    """

    errors: Sequence[Json]
