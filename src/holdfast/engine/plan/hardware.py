"""Hardware by its name: a flavor of Hugging Face Jobs, or a kind of GPU, perhaps several: `h100`, `h100x8`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from holdfast.catalog.hub.flavors import Flavor, gone_flavors, load_flavors, table_prices
from holdfast.catalog.hub.gpus import GB, load_gpus
from holdfast.core.check.facts import Gpu
from holdfast.core.check.finding import MissingFactError
from holdfast.core.errors import SourceError
from holdfast.core.plan.hardware import Hardware, PriceList
from holdfast.core.text.nearest import nearest

SEVERAL: Final = re.compile(r"(?P<gpu>[a-z0-9-]+?)(?:x(?P<count>[1-9]|1[0-6]))?")


def prices_of(ask: Callable[[], PriceList]) -> PriceList:
    """Return the Hub's prices, or those of the catalog with the reason why the Hub does not give its own.

    Args:
        ask: Asks the Hub.
    """
    try:
        return ask()
    except SourceError as error:
        return table_prices(error.what)


def own_prices(own: tuple[Hardware, ...]) -> PriceList:
    """Return the prices of the catalog with the machines of the user's own price file."""
    return replace(table_prices(), own=own)


def list_flavors(prices: PriceList) -> Sequence[Hardware]:
    """Return the hardware of Hugging Face Jobs that has a price, and the user's own: what the Hub no longer offers is left out."""
    flavors = [_of_flavor(each, prices) for each in load_flavors().values() if each.name in prices.usd_per_hour]
    return [*flavors, *prices.own]


def find_hardware(name: str, prices: PriceList | None) -> Hardware:
    """Return the hardware of a name; a GPU that is no flavor has no price.

    Args:
        name: A flavor, a machine of the user's own price file, or a kind of GPU with the number of them.
        prices: What flavors cost, and the user's own machines. Default: the prices of the catalog.

    >>> len(find_hardware("h100x8", None).gpus), find_hardware("a10g-large", None).usd_per_hour
    (8, 1.5)

    Raises:
        MissingFactError: There is none of that name.
    """
    prices = prices or table_prices()
    flavors, own = load_flavors(), {each.name: each for each in prices.own}
    if name in flavors:
        return _of_flavor(flavors[name], prices)
    if name in own:
        return own[name]
    if gpus := _counted_gpus(name):
        return Hardware(name=name, gpus=gpus)
    raise MissingFactError("where.hardware", f"`{name}` is not known{_instead(name, tuple(own))}")


def _counted_gpus(name: str) -> tuple[Gpu, ...]:
    """Return the GPUs that a name such as `h100x8` counts; none if it is no such name."""
    found, gpus = SEVERAL.fullmatch(name), load_gpus()
    return (gpus[found["gpu"]],) * int(found["count"] or 1) if found and found["gpu"] in gpus else ()


def _instead(name: str, own: Sequence[str]) -> str:
    """Return what to name instead of hardware that is not known, as the end of a sentence."""
    flavors, gpus = load_flavors(), load_gpus()
    gone = gone_flavors().get(name)
    if gone and gone.instead:
        return f"; `{gone.instead}` stands in its place"
    if near := nearest(_spelled(name), (*own, *flavors, *gpus)):
        return f": did you mean `{near}`?"
    with_gpus = ", ".join(each.name for each in flavors.values() if each.gpus)
    listed = f". Your own: {', '.join(own)}" if own else ""
    return f"{listed}. Flavors: {with_gpus}. GPUs: {', '.join(gpus)}"


def _spelled(name: str) -> str:
    """Return a name as flavors are spelled.

    >>> _spelled("NVIDIA RTX 4090")
    'rtx-4090'
    """
    return "-".join(name.lower().removeprefix("nvidia").replace("_", " ").replace("-", " ").split())


def _of_flavor(flavor: Flavor, prices: PriceList) -> Hardware:
    return Hardware(
        name=flavor.name,
        gpus=flavor.gpus,
        usd_per_hour=prices.usd_per_hour.get(flavor.name),
        memory_bytes=(flavor.memory_gb or 0) * GB,
        disk_bytes=(flavor.disk_gb or 0) * GB,
    )
