"""Whether a host can be connected to: known in milliseconds, where huggingface_hub tries five times for each file.

Covered: names that do not resolve, connections that are refused, a proxy in the environment in place of the host. Not covered: a host
that takes the connection and does not answer.
"""

import socket
from typing import Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

PATIENCE_S: Final = 5.0
PORTS: Final = {"http": 80, "https": 443}


def why_unreachable(address: str) -> str:
    """Return why no connection to an address, or to the proxy on the way to it, can be made; empty if one can."""
    way = _first_stop(address)
    try:
        host, port = way.hostname or "", way.port or PORTS.get(way.scheme, PORTS["https"])
        socket.create_connection((host, port), timeout=PATIENCE_S).close()
    except (OSError, ValueError) as error:
        return f"{way.hostname}: {getattr(error, 'strerror', None) or error}"
    return ""


def _first_stop(address: str) -> SplitResult:
    """Return the proxy on the way to an address; without one, the address."""
    target = urlsplit(address)
    proxies = {} if proxy_bypass(target.hostname or "") else getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    if not proxy:
        return target
    return urlsplit(proxy if "//" in proxy else f"http://{proxy}")
