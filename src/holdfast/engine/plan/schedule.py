"""How often a job evaluates, saves and pushes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import ABSENT, Document
from holdfast.core.run.checkpoint import KEPT_CHECKPOINTS
from holdfast.core.text.numbers import is_count, is_number

NEVER: Final = frozenset({None, ABSENT, "no"})
EPOCH: Final = "epoch"


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """What a training does beside its steps.

    Attributes:
        evaluations: How often it evaluates.
        saves: How many checkpoints it saves.
        kept: How many of them it keeps at least.
        pushes: Whether it pushes the result.
    """

    evaluations: int = 0
    saves: int = 0
    kept: int = 0
    pushes: bool = False


NOTHING_ELSE: Final = TrainingSchedule()
"""Of a training that only does its steps."""


def read_schedule(job: Document, api: Api, steps: int, epochs: int, rehearsed: Mapping[str, Any]) -> TrainingSchedule:
    """Return how often a job evaluates, saves and pushes; what its source hides counts as never.

    Args:
        job: The job.
        api: The versions that it gets.
        steps: Its optimizer steps.
        epochs: The epochs that it ends.
        rehearsed: The arguments that a rehearsal saw its trainer get; empty if there was none.
    """
    own = _of_job_file(job) if job.kind == "job" and not rehearsed else {}
    settings = ScheduleSettings(job, api, {**own, **rehearsed})
    evaluates = settings.get("eval_strategy")
    first = settings.get("eval_on_start") is True and evaluates not in NEVER
    eval_steps = settings.get("eval_steps") or settings.get("logging_steps")
    saves = _times(settings.get("save_strategy"), settings.get("save_steps"), steps, epochs)
    limit = settings.get("save_total_limit")
    return TrainingSchedule(
        evaluations=_times(evaluates, eval_steps, steps, epochs) + first,
        saves=saves,
        kept=min(saves, limit) if is_count(limit) else saves,
        pushes=settings.get("push_to_hub") is True or job.get("output.push_to", None) is not None,
    )


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """The settings of a trainer that decide its schedule.

    Attributes:
        job: The job.
        api: The versions that it gets.
        known: Settings that are known otherwise: from a rehearsal, or from the script that a job file comes to.
    """

    job: Document
    api: Api
    known: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """Return a setting; ABSENT if the source hides it."""
        if name in self.known:
            return self.known[name]
        try:
            return setting(self.job, name, self.api)
        except MissingFactError:
            return ABSENT


def _of_job_file(job: Document) -> dict[str, Any]:
    """Return what the script of a job file sets where the job does not."""
    from holdfast.engine.script.outline import PART_OF_STEPS  # of pydantic, which no script needs

    evaluates = any(job.get(key, None) is not None for key in ("dataset.eval_split", "dataset.eval_fraction"))
    sets: dict[str, Any] = {"save_total_limit": KEPT_CHECKPOINTS, "eval_strategy": "steps", "eval_steps": PART_OF_STEPS}
    if job.get("train.save_strategy") is ABSENT:
        sets["save_steps"] = PART_OF_STEPS
    unset = {name: value for name, value in sets.items() if job.get(f"train.{name}") is ABSENT}
    return unset if evaluates else {**unset, "eval_strategy": "no"}


def _times(strategy: Any, every: Any, steps: int, epochs: int) -> int:
    """Return how often something happens that also happens at the last step.

    A part of all steps is rounded up. Source: `compute_steps` and `DefaultFlowCallback` of transformers 5.23.

    >>> _times("steps", 0.25, 10, 1), _times("steps", 500, 400, 1), _times("epoch", 500, 400, 3), _times("no", 1, 9, 1)
    (4, 1, 3, 0)
    """
    if strategy in NEVER:
        return 0
    if strategy == EPOCH:
        return epochs
    if not is_number(every) or every <= 0:
        return 1
    return math.ceil(steps / (math.ceil(steps * every) if every < 1 else every))
