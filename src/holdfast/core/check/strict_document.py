"""A document for readers that may not guess: rules, and the planner."""

from dataclasses import dataclass, field, fields
from typing import Any

from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.job.hidden import hidden_in, track_reads, track_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictDocument(Document):
    """A document that does not guess: reading a value that its source hides raises MissingFactError, or is noted.

    Attributes:
        hidden_reads: The hidden values that were read, by key: those of calls, and those with something hidden inside.
    """

    hidden_reads: dict[str, Unknown] = field(default_factory=dict[str, Unknown], compare=False, repr=False)

    @classmethod
    def of(cls, document: Document) -> "StrictDocument":
        """Return the same document, which notes what is read."""
        reads: dict[str, Unknown] = {}
        given = {each.name: getattr(document, each.name) for each in fields(document)}
        calls = tuple(track_reads(call, reads.setdefault) for call in document.calls)
        return cls(**{**given, "calls": calls}, hidden_reads=reads)

    def get(self, key: str, default: Any = ABSENT) -> Any:
        """Return the value under a dotted key, or the default.

        Raises:
            MissingFactError: The source sets the key, but does not say to what.
        """
        value = Document.get(self, key, default)  # a class with slots is made anew, which `super()` does not know
        if isinstance(value, Unknown):
            raise MissingFactError(key, value.because)
        if isinstance(value, dict):
            return track_settings(key, value, self.hidden_reads.setdefault)
        if hidden := hidden_in(value):
            self.hidden_reads.setdefault(key, hidden)
        return value
