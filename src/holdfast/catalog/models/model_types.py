"""Model types, as `config.json` names them: which releases of transformers know each, and what its auto classes take.

Source: `model_types.toml`, written by `tools/model_types.py` out of the installed packages; for other releases the history of
the names that transformers exports.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.tables import load_table
from holdfast.core.job.api import Span

TRANSFORMERS: Final = "transformers"


@dataclass(frozen=True, slots=True)
class ModelType:
    """One type of model.

    Attributes:
        name: As `model_type` of a `config.json` spells it.
        config: The class of its config.
        causal: Whether `AutoModelForCausalLM` takes it.
        sequence: Whether `AutoModelForSequenceClassification` does.
        renamed: Whether its modules are called otherwise than the weights of its checkpoints.
        targets: Whether peft knows where a LoRA adapter goes that does not say so.
    """

    name: str
    config: str
    causal: bool
    sequence: bool
    renamed: bool
    targets: bool


@cache
def load_model_types() -> Mapping[str, ModelType]:
    """Return every type that the newest transformers knows, by name.

    >>> load_model_types()["qwen3"].config, load_model_types()["t5"].causal
    ('Qwen3Config', False)
    """
    rows = {name: row.split() for name, row in load_table("model_types")["types"].items()}
    return {
        name: ModelType(name, config, *(mark in marks for mark in ("causal", "sequence", "renamed", "targets")))
        for name, (config, *marks) in rows.items()
    }


def is_of_table(api: Api, package: str) -> bool:
    """True if the version at hand of transformers or peft is the one that the table was read from."""
    return bool(api.versions.get(package) == load_table("model_types")[package])


def knows(api: Api, name: str) -> bool | None:
    """True if the transformers at hand knows a type; None if that cannot be said.

    >>> knows(Api({"transformers": "4.46.3"}), "qwen3"), knows(Api({"transformers": "4.46.3"}), "llama")
    (False, True)
    """
    found = load_model_types().get(name)
    if is_of_table(api, TRANSFORMERS):
        return found is not None
    return api.has_name(TRANSFORMERS, found.config) if found else None


def known_since(api: Api, name: str) -> Span | None:
    """Return the releases of transformers that know a type; None if no release is known to.

    >>> known_since(Api({"transformers": "4.46.3"}), "qwen3").first
    '4.51.0'
    """
    found = load_model_types().get(name)
    return next(iter(api.name_spans(TRANSFORMERS, found.config)), None) if found else None
