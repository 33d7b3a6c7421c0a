"""The reward functions of the user's own that a job gives its trainer, whatever names them."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from holdfast.catalog.given_rewards import given_rewards
from holdfast.core.check.facts import NamedFile
from holdfast.core.job.calls import Call, LocalName
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE_TRAINERS
from holdfast.core.text.places import Place

METHODS: Final = ("grpo", "rloo")
KEY: Final = "trainer.reward_funcs"


class OwnReward(NamedTuple):
    """A reward function of the user's own.

    Attributes:
        key: The key of the job that names it.
        function: The function.
        place: Where it is defined, or named if it is in another file; None for a place that the key has.
    """

    key: str
    function: LocalName
    place: Place | None = None


def own_rewards(job: Document, files: Mapping[str, NamedFile]) -> Iterator[OwnReward]:
    """Yield the reward functions whose source is at hand, unless a program handles the TypeError that they may raise."""
    yield from _of_job(job, files) if job.kind == "job" else _of_program(job)


def _of_job(job: Document, files: Mapping[str, NamedFile]) -> Iterator[OwnReward]:
    named = job.get("rewards", None) if job.get("method", None) in METHODS else None
    for number, text in enumerate(named if isinstance(named, list) else ()):
        module, _, name = str(text).rpartition(":")
        if module in files and name in files[module].functions:
            yield OwnReward(f"rewards.{number}", files[module].functions[name])


def _of_program(job: Document) -> Iterator[OwnReward]:
    trainer = _trainer(job)
    if trainer is None:
        return
    place = None if "reward_funcs" in trainer.arguments else trainer.name_place
    for reward in given_rewards(job, trainer):
        if isinstance(reward, LocalName) and reward.kind == "function":
            yield OwnReward(KEY, reward, reward.place or place)


def _trainer(job: Document) -> Call | None:
    """Return the call of the trainer that asks rewards, unless the TypeError that they may raise is handled."""
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or trainer.name not in ONLINE_TRAINERS:
        return None
    return None if trainer.guard.tolerates("TypeError") else trainer
