"""Hardware that a job may run on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from holdfast.core.check.facts import Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """A machine to choose.

    Attributes:
        name: Its flavor, or `local`.
        gpus: Its GPUs, all of one kind.
        usd_per_hour: Its price; None if it is not known.
        cores: Cores that a process may use; 0 if unknown.
        memory_bytes: Main memory; 0 if unknown.
        disk_bytes: Disk, of this machine what is free of it; 0 if unknown.
        provider: Who rents it out, by the user's own price file; empty for Hugging Face Jobs and this machine.
        priced: The day of that price; None if the file does not say.
    """

    name: str
    gpus: tuple[Gpu, ...]
    usd_per_hour: float | None = None
    cores: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    provider: str = ""
    priced: date | None = None

    @property
    def label(self) -> str:
        """Its name, with the provider's if it is one of the user's own.

        >>> Hardware(name="pod", gpus=(), provider="RunPod").label, Hardware(name="h200", gpus=()).label
        ('pod (RunPod)', 'h200')
        """
        return f"{self.name} ({self.provider})" if self.provider else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """What an hour of each flavor costs.

    Attributes:
        usd_per_hour: Prices by the name of the flavor, in USD.
        day: The day on which they were read.
        live: Whether the Hub gave them; otherwise they are those of the catalog.
        because: Why the Hub did not give them; empty if it did.
        own: The machines of the user's own price file.
    """

    usd_per_hour: Mapping[str, float]
    day: date
    live: bool = False
    because: str = ""
    own: tuple[Hardware, ...] = ()

    def describe(self) -> str:
        """Return whose prices they are.

        >>> PriceList(usd_per_hour={}, day=date(2026, 11, 23)).describe()
        'prices of 2026-11-23'
        """
        return f"the Hub's prices of {self.day}" if self.live else f"prices of {self.day}"
