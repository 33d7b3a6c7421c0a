"""The checkpoints that a program resumes from by name."""

from collections.abc import Iterator
from typing import Final

from holdfast.core.job.document import Document

RESUME: Final = "resume_from_checkpoint"


def resumed_from(document: Document) -> Iterator[str]:
    """Yield the folders from which trainers resume, where the program names them."""
    for call in document.calls:
        if call.name == "train" and "Trainer" in call.path:
            given = call.arguments.get(RESUME, call.positional[0] if call.positional else None)
            if isinstance(given, str) and given:
                yield given
