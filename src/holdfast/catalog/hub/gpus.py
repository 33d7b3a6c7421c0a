"""GPUs by the short names that flavors use: their memory and what they can compute in."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from holdfast.catalog.tables import load_table
from holdfast.core.check.facts import Gpu
from holdfast.core.plan.estimate import Interval

GB: Final = 10**9
GIB: Final = 1 << 30
TERA: Final = 10**12
ALIKE: Final = 0.15
"""How much of the memory that a GPU is sold with its driver may report less or more: GB and GiB differ by 7 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCeilings:
    """What a GPU can do at most, and what of that fine-tuning reaches.

    Attributes:
        usable_bytes: Memory that a process can have.
        flops: Arithmetic per second in 16 bits.
        efficiency: Part of it that is reached: low, middle, high.
        guessed: Whether no run on such a GPU shows that part.
        bytes_per_s: Bandwidth of its memory.
        link_bytes_per_s: What several in a machine send one another; None if unknown.
    """

    usable_bytes: int
    flops: float
    efficiency: Interval
    bytes_per_s: float
    link_bytes_per_s: Interval | None = None
    guessed: bool = False


@cache
def load_gpus() -> Mapping[str, Gpu]:
    """Return every GPU by its short name.

    >>> load_gpus()["t4"].capability, load_gpus()["t4"].bf16
    ((7, 5), False)
    """
    rows = load_table("gpus")
    return {
        name: Gpu(name=row["name"], memory_bytes=row["memory_gb"] * GB, capability=(*row["capability"],))
        for name, row in rows.items()
    }


@cache
def load_ceilings() -> Mapping[str, GpuCeilings]:
    """Return what each GPU can do, by its name as `nvidia-smi` spells it.

    >>> load_ceilings()["Tesla T4"].flops / TERA
    65.0
    """
    return {row["name"]: _ceilings(**row) for row in load_table("gpus").values()}


def find_ceilings(gpu: Gpu) -> GpuCeilings | None:
    """Return what a GPU can do, whatever its driver calls it; None if it is not known.

    >>> find_ceilings(Gpu(name="NVIDIA A100-SXM4-80GB", memory_bytes=85 * GB, capability=(8, 0))) == find_ceilings(load_gpus()["a100"])
    True
    """
    rows = load_table("gpus").values()
    named = [row for row in rows if row["match"] in gpu.name]
    near = [row for row in named if abs(row["memory_gb"] * GB / gpu.memory_bytes - 1) < ALIKE]
    best = max(near, key=lambda row: len(row["match"]), default=None)
    return _ceilings(**best) if best else None


def _ceilings(
    *,
    usable_gib: float,
    tflops: float,
    efficiency: tuple[float, float, float],
    bandwidth_gb_s: float,
    link_gb_s: tuple[float, float, float] | None = None,
    guessed: bool = False,
    **_: object,
) -> GpuCeilings:
    return GpuCeilings(
        usable_bytes=round(usable_gib * GIB),
        flops=float(tflops * TERA),
        efficiency=_interval(efficiency, 1),
        bytes_per_s=float(bandwidth_gb_s * GB),
        link_bytes_per_s=_interval(link_gb_s, GB) if link_gb_s else None,
        guessed=guessed,
    )


def _interval(values: tuple[float, float, float], unit: int) -> Interval:
    low, middle, high = (value * unit for value in values)
    return Interval(middle, low, high)
