"""Which of the models that a job names is the one that it trains."""

from collections.abc import Sequence

from holdfast.core.check.reference import Reference
from holdfast.core.job.document import Document
from holdfast.engine.references import references

TRAINED = ("trainer.model", "train.model_name_or_path", "model")
"""Keys of the trained model, or of the call that loads it."""


def named_models(job: Document) -> tuple[Reference | None, Sequence[Reference]]:
    """Return the model that a job trains, None if that is not sure; and the others, such as reward models, each once."""
    models = [each for each in references(job) if each.role == "model" and not each.guard.because]
    first = {each.name: each for each in reversed(models)}
    trained = _surely_trained(models) or {*first}
    if len(trained) != 1:
        return None, models
    return first.pop(*trained), tuple(first.values())[::-1]


def _surely_trained(models: Sequence[Reference]) -> set[str]:
    keys = tuple(f"{name}." for name in TRAINED)
    return {each.name for each in models if f"{each.key}.".startswith(keys)}
