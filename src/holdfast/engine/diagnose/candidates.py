"""A class of failure that may be the cause of what a log shows."""

from dataclasses import dataclass

from holdfast.core.diagnose.diagnosis import Signature
from holdfast.core.diagnose.log import Line, Traceback
from holdfast.engine.diagnose.matching import Match
from holdfast.engine.diagnose.metric_history import ClassEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A class that may be the cause.

    Attributes:
        signature: The class.
        score: How much speaks for it; between 0 and 1.
        decisive: The sign that says the most; None if only the metrics speak for it.
        matches: All lines that speak for it, in order.
        silent: What the metrics say.
        exception: The exception that no signature knows, of the class that stands for such.
        is_guess: Whether nothing but its words speaks for it.
    """

    signature: Signature
    score: float
    decisive: Match | None = None
    matches: tuple[Match, ...] = ()
    silent: ClassEvidence | None = None
    exception: Traceback | None = None
    is_guess: bool = False

    @property
    def line(self) -> Line | None:
        """The line that says the most."""
        if self.decisive:
            return self.decisive.line
        if self.silent:
            return self.silent.lines[0]
        return self.exception.error[0] if self.exception and self.exception.error else None

    @property
    def root_places(self) -> frozenset[tuple[str, int]]:
        """Where the lines stand that state the cause."""
        return frozenset(match.line.place for match in self.matches if match.pattern.role == "root")
