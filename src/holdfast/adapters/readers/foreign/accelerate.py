"""accelerate's own file of settings, as a command that has it says it."""

from typing import Final

from holdfast.core.job.document import Document

UNDER: Final = ("launch", "accelerate")
"""The key of a Document under which the file's settings stand."""


def read_accelerate(document: Document) -> Document:
    """Return the settings of the file that `accelerate launch --config_file` names."""
    return Document(
        path=document.path,
        kind="command",
        text=document.text,
        values={UNDER[0]: {UNDER[1]: dict(document.values)}},
        places={(*UNDER, *key): place for key, place in document.places.items()},
        key_places={(*UNDER, *key): place for key, place in document.key_places.items()},
    )
