"""Which of the models that a job names is the one that it trains."""

from collections.abc import Sequence

from holdfast.core.document import Document
from holdfast.core.reference import Reference
from holdfast.engine.references import references

TRAINED = ("trainer.model", "train.model_name_or_path", "model")
"""Keys of the trained model, or of the call that loads it."""


def named_models(job: Document) -> tuple[Reference | None, Sequence[Reference]]:
    """Return the model that a job trains, None if that is not sure; and the others, such as reward models, each once."""
    models = [each for each in references(job) if each.role == "model" and not each.guard.because]
    sure = [each for each in models if _is_trained(each.key)]
    names = {each.name for each in sure or models}
    if len(names) != 1:
        return None, models
    trained = next(each for each in models if each.name in names)
    others = {each.name: each for each in reversed(models) if each.name != trained.name}
    return trained, tuple(others.values())[::-1]


def _is_trained(key: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in TRAINED)
