"""Which ranks share a GPU, as NCCL tells: one that all ranks took says something else than several that are shared by turns."""

import re
from typing import Final

from holdfast.core.log import Log

SHARED: Final = re.compile(r"Duplicate GPU detected : rank (\d+) and rank (\d+) both on CUDA device (\w+)")


def shared_devices(log: Log) -> dict[str, str]:
    """Return the GPUs that ranks share; empty where NCCL does not report it.

    A rank takes the GPU of its own number, modulo how many there are: with too few GPUs, neighbours share one only if it is the only one.

    Args:
        log: What was read.

    Returns:
        As texts, which conditions compare as numbers: `shared_gpus`, how many GPUs are shared; `neighbours_share`, 1 where two ranks that follow
        one another share one.
    """
    found = [match for hit in log.hits if (match := SHARED.search(hit.line.text))]
    if not found:
        return {}
    neighbours = any(abs(int(match[1]) - int(match[2])) == 1 for match in found)
    return {"shared_gpus": str(len({match[3] for match in found})), "neighbours_share": str(int(neighbours))}
