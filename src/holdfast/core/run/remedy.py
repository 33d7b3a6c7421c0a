"""Remedies: what is changed in a job, after a failure of known cause, so that its run can go on."""

from collections.abc import Iterator
from dataclasses import dataclass
from json import dumps
from shlex import quote
from typing import Any, Final, Literal

Permission = Literal[
    "batch_size",
    "checkpointing",
    "optimizer",
    "hardware",
    "learning_rate",
    "skip_batches",
    "loss_spike",
    "unknown_once",
    "killed",
]
"""A kind of change that a job permits, or not, under `recover.allow`."""
Kept = Literal["effective_batch", "data_order", "optimizer", "learning_rate"]
"""What a remedy leaves as it was: rows of an optimizer step, their order, the optimizer and its state, the schedule."""
ALL_KEPT: Final[tuple[Kept, ...]] = ("effective_batch", "data_order", "optimizer", "learning_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A key of a job file that gets another value.

    Attributes:
        key: The dotted key.
        before: The value that held: the job's, else the default; None if there was none.
        after: The new value; None if the key is removed.
    """

    key: str
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        """Return the change in words.

        >>> str(SettingChange(key="train.optim", after="paged_adamw_8bit"))
        '`train.optim` set to paged_adamw_8bit'
        """
        if self.after is None:
            return f"`{self.key}` removed, which was {self.before}"
        return f"`{self.key}` " + ("set" if self.before is None else f"from {self.before}") + f" to {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRemedy:
    """What is changed for the next attempt.

    Attributes:
        permission: The entry of `recover.allow` that permits it; None if it needs none, since it changes nothing of the training.
        because: Why this is changed, in a sentence.
        changes: The changed keys of the job.
        skips: The first and the last step that are skipped; None if none are.
        resumes_until: The last step whose checkpoint can be continued from; 0 if training starts over, None if all can.
        keeps: What is as it was.
        differs: What does not stay exactly the same, a sentence each.
    """

    permission: Permission | None = None
    because: str
    changes: tuple[SettingChange, ...] = ()
    skips: tuple[int, int] | None = None
    resumes_until: int | None = None
    keeps: tuple[Kept, ...] = ALL_KEPT
    differs: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return what it changes, in a line.

        >>> AppliedRemedy(because="", changes=(SettingChange(key="train.optim", before="a", after="b"),)).describe()
        '`train.optim` from a to b'
        """
        return "; ".join(self._parts())

    def undo(self) -> str:
        r"""Return the overrides that a command takes to undo it, for a shell; empty if no key was changed.

        >>> AppliedRemedy(because="", changes=(SettingChange(key="train.optim", before="a", after="b"),)).undo()
        '--set \'train.optim="a"\''
        """
        return " ".join(f"--set {quote(f'{each.key}={dumps(each.before, default=str)}')}" for each in self.changes)

    def _parts(self) -> Iterator[str]:
        yield from map(str, self.changes)
        if self.skips:
            first, last = self.skips
            yield (
                f"the batches of step {first} are skipped" if first == last else f"steps {first} to {last} are skipped"
            )
        if self.resumes_until == 0:
            yield "training starts over"
