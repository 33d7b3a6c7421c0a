"""What of a job's settings decides how its rows become tokens, and how many steps they make."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard, TypeVar

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import arguments_of, setting
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.job.methods import Method
from holdfast.core.plan.epoch_steps import Schedule

Strategy = Literal["bfd", "bfd_split", "wrapped"]
STRATEGIES: tuple[Strategy, ...] = ("bfd", "bfd_split", "wrapped")
NUMBER = (int, float)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a trainer makes tokens of rows.

    Attributes:
        method: Whose trainer.
        text_field: Column of the text, in supervised fine-tuning.
        max_length: Tokens of a row that are kept, or that it may have; None for any number.
        keep_end: Whether the end is what is kept.
        completion_only: Whether prompts are not learned from; None: they are not where rows have prompts.
        assistant_only: Whether only the assistant's turns are learned from.
        packing: How rows are packed together; None if they are not.
        options: What the chat template is given besides, for every row alike.
        schedule: How many rows a step takes.
    """

    method: Method
    text_field: str = "text"
    max_length: int | None = None
    keep_end: bool = False
    completion_only: bool | None = None
    assistant_only: bool = False
    packing: Strategy | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schedule: Schedule = field(default_factory=Schedule)

    @property
    def cuts(self) -> bool:
        """Whether longer rows are cut; a reward model's trainer leaves them out, and packing may split them."""
        return self.max_length is not None and self.method is not Method.REWARD and self.packing in (None, "bfd")


def read_recipe(job: Document, *, processes: int = 1, api: Api | None = None) -> Recipe:
    """Return the recipe by which the trainer of a job tokenizes its rows.

    Args:
        job: A job file, or a document of a dataset alone; it names a method.
        processes: Training processes on all machines together.
        api: The versions at hand; those that job files get where none are given.

    Raises:
        MissingFactError: A setting that decides it is not known before the job runs, or is nothing of its kind.
    """
    settings = _Settings(job, api)
    if settings.read_or("dataset_kwargs", Mapping, {}).get("skip_prepare_dataset"):
        raise MissingFactError("train.dataset_kwargs", "the trainer is set to take the rows as they are")
    method = _read_method(job)
    return Recipe(
        method=method,
        packing=_read_packing(settings),
        text_field=settings.read_or("dataset_text_field", str, "text"),
        max_length=settings.read("max_length", int),
        keep_end=settings.read("truncation_mode", str) == "keep_end" and method is not Method.KTO,
        completion_only=settings.read("completion_only_loss", bool),
        assistant_only=settings.read_or("assistant_only_loss", bool, default=False),
        options=settings.read_or("chat_template_kwargs", Mapping, {}),
        schedule=_read_schedule(settings, method, processes),
    )


def _read_method(job: Document) -> Method:
    named = job.get("method")
    if named not in set(Method):
        raise MissingFactError("method", "no method is named that rows are made tokens for")
    return Method(named)


def _read_packing(settings: "_Settings") -> Strategy | None:
    packing = settings.read("packing", bool) and settings.read("packing_strategy", str)
    if not packing:
        return None
    if packing not in STRATEGIES:
        raise MissingFactError("train.packing_strategy", f"there is no strategy {packing!r}")
    return packing


def _read_schedule(settings: "_Settings", method: Method, processes: int) -> Schedule:
    batch = settings.read_or("per_device_train_batch_size", int, 8)
    accumulation = settings.read_or("gradient_accumulation_steps", int, 1)
    max_steps = settings.read_or("max_steps", int, 0)
    whole = settings.read("generation_batch_size", int)
    rounds = settings.read_or("steps_per_generation", int, accumulation)
    generations = settings.read_or("num_generations", int, 0)
    return Schedule(
        epochs=float(settings.read_or("num_train_epochs", NUMBER, 3.0)),
        max_steps=max_steps if max_steps > 0 else None,
        batch=batch,
        accumulation=accumulation,
        processes=processes,
        drop_last=settings.read_or("dataloader_drop_last", bool, default=False),
        generations=generations if method.generates else 0,
        generation_batch=(whole or batch * processes * rounds) if method.generates else 0,
        iterations=settings.read_or("num_iterations", int, 1),
        streamed=bool(settings.job.get("dataset.streaming", default=False)),
    )


class _Settings:
    """A job's settings, none of them guessed."""

    def __init__(self, job: Document, api: Api | None) -> None:
        self.job, self._api, self._known = job, api, arguments_of(job, api)

    def read_or(self, name: str, kind: type[T] | tuple[type[T], ...], default: T) -> T:
        """Return a setting; the default if there is none, or if it is empty or 0."""
        return self.read(name, kind) or default

    def read(self, name: str, kind: type[T] | tuple[type[T], ...]) -> T | None:
        """Return a setting, or None if there is none.

        Raises:
            MissingFactError: It is not known, or is of another kind.
        """
        is_set = name in self._known or self.job.get(f"train.{name}") is not ABSENT
        value = setting(self.job, name, self._api) if is_set else None
        if isinstance(value, Unknown):
            raise MissingFactError(f"train.{name}", value.because)
        if value in (None, ABSENT):
            return None
        if not _is_of_kind(value, kind):
            raise MissingFactError(f"train.{name}", f"{value!r} is not what it takes")
        return value


def _is_of_kind(value: Any, kind: type[T] | tuple[type[T], ...]) -> TypeGuard[T]:
    """True if a value is of a kind; True and False are no numbers."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
