"""Optimizers: what they keep on the GPU.

Source: `optimizers.toml`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from holdfast.catalog.tables import load_table


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerMemory:
    """The memory of an optimizer, by the trained parameters.

    Attributes:
        states: Tensors of their size that it keeps.
        bytes: Bytes of an element of these; 0 for those of the parameter.
        copies: Tensors of their size that a step allocates and frees.
        paged: Whether the driver moves the states to main memory when the GPU is full.
        wide_embeddings: Whether the states of embeddings are in float32, as transformers tells bitsandbytes.
    """

    states: int
    bytes: float = 0
    copies: int = 0
    paged: bool = False
    wide_embeddings: bool = False


@cache
def load_optimizers() -> Mapping[str, OptimizerMemory]:
    """Return the memory of each optimizer by the name that `optim` takes.

    >>> load_optimizers()["adamw_torch"].copies, load_optimizers()["adamw_torch_fused"].copies
    (1, 0)
    """
    return {name: OptimizerMemory(**row) for name, row in load_table("optimizers").items()}
