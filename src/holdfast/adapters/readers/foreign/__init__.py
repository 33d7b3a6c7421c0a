"""Files of other programs, as far as they map: TRL's own recipes, LLaMA-Factory, axolotl; and the settings of accelerate.

Each becomes a Document with the same keys that a job file of ours has. What is passed on to a class of TRL or
transformers is a call of it; what the other program means by itself is left alone, for it is none of our claims.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.adapters.readers.foreign.accelerate import read_accelerate
from holdfast.adapters.readers.foreign.axolotl import read_axolotl
from holdfast.adapters.readers.foreign.llama_factory import read_llama_factory
from holdfast.adapters.readers.foreign.recipes import read_recipe
from holdfast.core.job.document import Document

RecipeReader = Callable[[Document], Document]

MARKS: Final[tuple[tuple[frozenset[str], RecipeReader], ...]] = (
    (frozenset({"compute_environment", "distributed_type"}), read_accelerate),
    (frozenset({"compute_environment", "num_processes"}), read_accelerate),
    (frozenset({"distributed_type", "num_processes"}), read_accelerate),
    (frozenset({"base_model", "datasets"}), read_axolotl),
    (frozenset({"base_model", "pretraining_dataset"}), read_axolotl),
    (frozenset({"stage", "model_name_or_path"}), read_llama_factory),
    (frozenset({"stage", "adapter_name_or_path"}), read_llama_factory),
    (frozenset({"model_name_or_path"}), read_recipe),
    (frozenset({"per_device_train_batch_size"}), read_recipe),
)
"""Keys that a file has at its top, and whose it is then; the first that fits."""
OURS: Final = frozenset({"method", "model"})


def find_reader(values: Mapping[str, Any]) -> RecipeReader | None:
    """Return the reader for another program's file, by the keys at its top; None if it is no such file, or one of ours.

    >>> find_reader({"method": "sft", "model": "x"}), find_reader({"compute_environment": "LOCAL_MACHINE"})
    (None, None)
    """
    if values.keys() >= OURS:
        return None
    return next((reader for keys, reader in MARKS if values.keys() >= keys), None)
