"""The schedules of the learning rate: the function that makes each, and what it takes.

Source: `TYPE_TO_SCHEDULER_FUNCTION` and `get_scheduler` of `transformers.optimization`, read in the wheels of transformers
4.40.2 to 5.23.0; the parameters are those of the history of releases.
"""

from collections.abc import Mapping
from typing import Final

from holdfast.catalog.api import Api

FUNCTIONS: Final[Mapping[str, str]] = {
    "linear": "get_linear_schedule_with_warmup",
    "cosine": "get_cosine_schedule_with_warmup",
    "cosine_with_restarts": "get_cosine_with_hard_restarts_schedule_with_warmup",
    "polynomial": "get_polynomial_decay_schedule_with_warmup",
    "cosine_with_min_lr": "get_cosine_with_min_lr_schedule_with_warmup",
    "cosine_warmup_with_min_lr": "get_cosine_with_min_lr_schedule_with_warmup_lr_rate",
    "warmup_stable_decay": "get_wsd_schedule",
}
"""By schedule; the others drop their keywords, or take any."""

BY_TRAINER: Final = frozenset({"optimizer", "num_warmup_steps", "num_training_steps"})
"""Parameters that the trainer gives, and that raise where they are given again."""

WITHOUT_WARMUP: Final = ("constant", "reduce_lr_on_plateau", "greedy")
"""Schedules that have no warm-up, whatever is asked."""

OWN: Final = ("create_scheduler", "create_optimizer", "lr_scheduler=")
"""Words of a script that makes a schedule itself."""


def schedule_keywords(api: Api, schedule: str) -> frozenset[str]:
    """Return the keywords that a schedule takes in `lr_scheduler_kwargs`; nothing if they are not known.

    >>> sorted(schedule_keywords(Api({"transformers": "5.23.0"}), "cosine"))
    ['last_epoch', 'num_cycles']
    """
    function = FUNCTIONS.get(schedule)
    signature = api.signature(f"transformers.optimization.{function}") if function else None
    return frozenset(signature.parameters) - BY_TRAINER if signature else frozenset()
