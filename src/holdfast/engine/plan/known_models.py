"""Models whose sizes the catalog knows, beside one that it does not."""

import re
from typing import Final

from holdfast.catalog.models.configs import load_configs

SIZE: Final = re.compile(r"(?<![\w.])(?:\d+x)?\d+(?:\.\d+)?[bm](?![a-z0-9])")


def alike_models(name: str) -> list[str]:
    """Return the models of the catalog that are of the same family and size, by their names.

    >>> alike_models("Qwen/Qwen2.5-7B-Instruct-1M"), alike_models("mistralai/Mixtral-8x33B-v0.1")
    (['Qwen/Qwen2.5-7B', 'Qwen/Qwen2.5-7B-Instruct'], [])
    """
    kind = _family_and_size(name)
    return [known for known in load_configs() if kind is not None and _family_and_size(known) == kind]


def _family_and_size(name: str) -> tuple[str, str] | None:
    """Return what a model's name begins with and the size that it says; None if it says none.

    >>> _family_and_size("meta-llama/Llama-3.2-1B-Instruct"), _family_and_size("microsoft/phi-4")
    (('llama-3.2', '1b'), None)
    """
    short = name.rpartition("/")[2].lower()
    found = SIZE.search(short)
    return (short[: found.start()].strip("-_"), found[0]) if found else None
