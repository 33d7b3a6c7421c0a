"""Hardware that a job may run on."""

from dataclasses import dataclass

from holdfast.core.facts import Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A machine to choose.

    Attributes:
        name: Its flavor, or `local`.
        gpus: Its GPUs, all of one kind.
        usd_per_hour: Its price; None if it is not known.
        memory_bytes: Main memory; 0 if unknown.
        disk_bytes: Disk; 0 if unknown.
    """

    name: str
    gpus: tuple[Gpu, ...]
    usd_per_hour: float | None = None
    memory_bytes: int = 0
    disk_bytes: int = 0
