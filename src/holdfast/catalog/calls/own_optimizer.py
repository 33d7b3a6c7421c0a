"""Whether a program gives its trainer an optimizer of its own, for which the settings of the config do not hold."""

from typing import Final

from holdfast.core.job.document import Document

KEYS: Final = ("trainer.optimizers", "trainer.optimizer_cls_and_kwargs")


def has_own_optimizer(job: Document) -> bool:
    """True if a program makes its optimizer itself.

    Raises:
        MissingFactError: The source hides it.
    """
    return any(job.get(key, None) is not None for key in KEYS) or "create_optimizer" in job.text
