"""The calls that train, and the checkpoint from which each resumes."""

from collections.abc import Iterator
from typing import Any, Final

from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place

NAME: Final = "resume_from_checkpoint"


def is_training(call: Call) -> bool:
    """True if a call is of a trainer's `train`, or of that of a class which derives from one; not of its model's."""
    return call.name == "train" and call.path.rpartition(".")[0].endswith("Trainer")


def trainings(job: Document, raised: str) -> Iterator[Call]:
    """Yield the calls that train, except those where an error of that name would not end the program."""
    return (call for call in job.calls if is_training(call) and not call.guard.tolerates(raised))


def checkpoint_key(call: Call) -> str:
    """Return the key of the checkpoint from which a call resumes."""
    return f"{call.key}.{NAME}"


def given_checkpoint(job: Document, call: Call) -> Any:
    """Return the checkpoint from which a call resumes; None if it begins anew.

    Raises:
        MissingFactError: The source hides it.
    """
    return job.get(checkpoint_key(call), next(iter(call.positional), None))


def checkpoint_place(call: Call) -> Place | None:
    """Return where a checkpoint is given by position; None if its key has a place."""
    return None if NAME in call.arguments else call.name_place
