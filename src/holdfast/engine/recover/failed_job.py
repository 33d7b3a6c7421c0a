"""A job whose newest attempt failed for a known cause: what its remedies are chosen from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.catalog.calls.train_arguments import arguments
from holdfast.core.job.api import REQUIRED
from holdfast.core.job.document import Unknown
from holdfast.core.job_file.job import Job
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Diagnosed
from holdfast.core.run.remedy import AppliedRemedy, SettingChange
from holdfast.core.run.training_event import TrainingStarted
from holdfast.core.text.numbers import is_whole

NOT_STARTED = TrainingStarted()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob:
    """A job, the attempt that failed, and why.

    Attributes:
        job: The job as the attempt ran it.
        cause: Why it failed.
        attempt: The attempt.
        earlier: What was changed after earlier attempts.
        usd_per_hour: What an hour of each hardware cost when the run was planned.
    """

    job: Job
    cause: Diagnosed
    attempt: AttemptState
    earlier: tuple[AppliedRemedy, ...] = ()
    usd_per_hour: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def started(self) -> TrainingStarted:
        """What its training began with, as far as it reported that."""
        return self.attempt.started or NOT_STARTED

    def setting(self, name: str) -> Any:
        """Return an argument that the trainer had: as it reported it, else the job's, else the default; None if unknown."""
        if name in self.started.config:
            return self.started.config[name]
        if name in self.job.train:
            return self.job.train[name]
        argument = arguments(self.job.method.value).get(name)
        return None if argument is None or isinstance(argument.default, Unknown | type(REQUIRED)) else argument.default

    def count(self, name: str) -> int:
        """Return a setting that is a whole number; 0 if it is none."""
        value = self.setting(name)
        return value if is_whole(value) else 0

    def change(self, name: str, after: Any) -> SettingChange:
        """Return the change of an argument of the trainer."""
        return SettingChange(key=f"train.{name}", before=self.setting(name), after=after)

    @property
    def has_gpu(self) -> bool:
        """Whether it trained on a GPU, as far as it reported that."""
        return any(name != "cpu" for name in self.started.hardware)
