"""Trials of a study: what each changes in the job, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.core.job.document import Key
from holdfast.core.run.event import RunStage

SEED_KEY: Final = "seed"
"""The key of a job that the seeds of a study set."""
NO_NUMBER: Final = 0
"""The number of a trial that is checked and never run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One setting of a study with one seed.

    Attributes:
        number: Its number, from 1, in the order of the file.
        settings: The values that it changes in the job, by dotted key, without the seed of `seeds`.
        seed: Its seed; None if the study has no `seeds`.
        sources: Where in the study file each value stands, as a key path of that file.
        file: The file that gives the values, if they are not from the study file; else empty.
    """

    number: int
    settings: Mapping[str, Any]
    seed: int | None = None
    sources: Mapping[str, Key] = field(default_factory=dict[str, Key])
    file: str = ""

    @property
    def values(self) -> Mapping[str, Any]:
        """All that it changes in the job, its seed too."""
        return self.settings if self.seed is None else {**self.settings, SEED_KEY: self.seed}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOutcome:
    """What became of a trial.

    Attributes:
        trial: The trial.
        content: The hash of its content; see `engine.study.content`.
        rows: The hash of all that decides which rows its metric is measured on: values on other rows are not comparable.
        run: The run's name; empty if it has none.
        stage: The run's stage; None if it has not begun.
        value: The metric's value; None if it has none.
        metrics: The newest value of each metric that was logged.
        seconds: The total time of its attempts.
        stepped_s: How long of that its steps took; 0 if that is not known.
        name: The class of its failure; empty if it has not failed, or the cause is not known.
        because: Why it failed; empty if it has not.
        fix: What to do about that.
        is_refused: Whether the check or the rehearsal refused it.
        pruned: Why its study stopped it early; empty if it did not.
        steps: How many steps its newest attempt has done.
    """

    trial: Trial
    content: str = ""
    rows: str = ""
    run: str = ""
    stage: RunStage | None = None
    value: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    seconds: float = 0.0
    stepped_s: float = 0.0
    name: str = ""
    because: str = ""
    fix: str = ""
    is_refused: bool = False
    pruned: str = ""
    steps: int = 0

    @property
    def has_failed(self) -> bool:
        """Whether it ended without a value, and was not stopped."""
        return bool(self.because) and self.stage is not RunStage.CANCELLED

    @property
    def is_open(self) -> bool:
        """Whether it has still to run to its end."""
        return self.value is None and not self.has_failed and not self.pruned
