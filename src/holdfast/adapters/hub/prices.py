"""The prices of Hugging Face Jobs.

Source: `GET /api/jobs/hardware`, with the fields that `JobHardwareInfo` of huggingface_hub 2.4 reads. Anybody may ask, so no token is sent.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Any, Final

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.hub.wire import TRY_AGAIN, HubRequest
from holdfast.core.errors import SourceError
from holdfast.core.plan.hardware import PriceList
from holdfast.core.text.numbers import is_number

MICRO: Final = 1e-6
PER_HOUR: Final[Mapping[object, int]] = {"second": 3600, "minute": 60, "hour": 1}
"""How many of the units that are billed an hour has."""
DIGITS: Final = 3
"""Of the price of an hour: that of a minute is rounded to a millionth, so that 60 of them are right to a tenth of a cent."""


def fetch_job_prices(asking: HubSession) -> PriceList:
    """Return the price of an hour of each flavor that the Hub offers today.

    Raises:
        SourceError: The Hub does not say.
    """
    return asking.once(("job prices",), partial(_fetch_job_prices, asking))


def _fetch_job_prices(asking: HubSession) -> PriceList:
    reply = asking.ask(HubRequest(url=f"{asking.settings.endpoint}/api/jobs/hardware", signed=False))
    if not reply.ok:
        raise reply.unexpected()
    prices = dict(_parse_prices(reply.json()))
    if not prices:
        raise SourceError("the Hub's answer has no prices of the form that is known", where=reply.url, fix=TRY_AGAIN)
    return PriceList(usd_per_hour=prices, day=datetime.fromtimestamp(SystemClock().now_s(), UTC).date(), live=True)


def _parse_prices(found: Any) -> Iterator[tuple[str, float]]:
    """Yield the name and the price of each flavor that has both."""
    for each in found if isinstance(found, list) else ():
        if not isinstance(each, Mapping):
            continue
        name, price, units = each.get("name"), each.get("unitCostMicroUSD"), PER_HOUR.get(str(each.get("unitLabel")))
        if isinstance(name, str) and is_number(price) and 0 <= price < inf and units:
            yield name, round(price * MICRO * units, DIGITS)
