"""Hardware of Hugging Face Jobs by flavor: GPUs, cores, memory and disk; and the names that are gone.

Source: `JobHardware` and `SpaceHardware` of every release of huggingface_hub since 0.16, and the guide to Jobs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from holdfast.catalog.hub.gpus import load_gpus
from holdfast.catalog.tables import load_table
from holdfast.core.check.facts import Gpu
from holdfast.core.plan.hardware import PriceList


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """What a job gets.

    Attributes:
        name: As `flavor=` spells it.
        gpus: Its GPUs, one entry each; none of a flavor without.
        cpus: Virtual cores; None if the guide does not say.
        memory_gb: Main memory, likewise.
        disk_gb: Disk that goes with the job, likewise.
        usd_per_hour: Price.
    """

    name: str
    gpus: tuple[Gpu, ...] = ()
    cpus: int | None = None
    memory_gb: int | None = None
    disk_gb: int | None = None
    usd_per_hour: float


@dataclass(frozen=True, slots=True)
class RemovedFlavor:
    """A name that Jobs do not offer, or no longer.

    Attributes:
        since: The first release of huggingface_hub that does not list it; empty for what only Spaces had.
        instead: The flavor nearest to it; empty if there is none.
    """

    since: str = ""
    instead: str = ""


@cache
def load_flavors() -> Mapping[str, Flavor]:
    """Return every flavor by its name.

    >>> len(load_flavors()["a10g-largex2"].gpus), load_flavors()["cpu-basic"].gpus
    (2, ())
    """
    return {name: _flavor(name, **row) for name, row in load_table("flavors")["flavors"].items()}


@cache
def gone_flavors() -> Mapping[str, RemovedFlavor]:
    """Return the names that are gone, and those for Spaces alone.

    >>> gone_flavors()["h100"]
    RemovedFlavor(since='1.4.0', instead='h200')
    """
    table = load_table("flavors")
    return {name: RemovedFlavor(**row) for name, row in (*table["gone"].items(), *table["spaces"].items())}


def flavors_made() -> date:
    """Return the day the table was made."""
    made: date = load_table("flavors")["made"]
    return made


def table_prices(because: str = "") -> PriceList:
    """Return the prices of the table, for where the Hub does not give its own.

    Args:
        because: Why it does not.

    >>> table_prices().usd_per_hour["h200"]
    5.0
    """
    prices = {name: flavor.usd_per_hour for name, flavor in load_flavors().items()}
    return PriceList(usd_per_hour=prices, day=load_table("flavors")["priced"], because=because)


def with_catalog_price(prices: Mapping[str, float], name: str) -> Mapping[str, float]:
    """Return prices; if they lack that of a flavor, with the price of the catalog, as far as that has one.

    >>> with_catalog_price({"l4x1": 0.9}, "h200"), with_catalog_price({"l4x1": 0.9}, "l4x1")
    ({'h200': 5.0, 'l4x1': 0.9}, {'l4x1': 0.9})
    """
    return {**{key: price for key, price in table_prices().usd_per_hour.items() if key == name}, **prices}


def planned_prices(prices: Mapping[str, float]) -> Mapping[str, float]:
    """Return the prices of a plan; if it has none, those of the catalog."""
    return prices or table_prices().usd_per_hour


def _flavor(name: str, *, gpu: str = "", gpus: int = 1, usd_per_hour: float, **rest: int) -> Flavor:
    return Flavor(name=name, gpus=(load_gpus()[gpu],) * gpus if gpu else (), usd_per_hour=usd_per_hour, **rest)
