"""Requests to a Hub that cannot be reached: the client waits for it half a minute, a rehearsal does not.

Covered: huggingface_hub 1.0 and newer. Not covered: older clients, and a Hub behind a proxy, whose way cannot be tried.
"""

import functools
import socket
from typing import Any
from urllib.parse import urlsplit

from ..sandbox.reach import proxies
from ..wrapping import when_imported, wrap

PATIENCE_S = 5.0
"""How long a connection may take."""
TRIES = 2
PORTS = {"http": 80, "https": 443}


def install(variables: Any) -> None:
    """Have a request to a host that cannot be reached tried once."""
    if not proxies(variables):
        when_imported("huggingface_hub.utils._http", lambda module: wrap(module, "_http_backoff_base", _try_once))


def _try_once(original: Any, method: Any, url: str, **kwargs: Any) -> Any:
    address = urlsplit(url)
    port = address.port or PORTS.get(address.scheme)
    if address.hostname and port and not is_reached(address.hostname, port):
        kwargs["max_retries"] = 0
    return original(method, url, **kwargs)


@functools.cache
def is_reached(host: str, port: int) -> bool:
    """True if a host takes connections; each is asked once."""
    for _ in range(TRIES):
        try:
            socket.create_connection((host, port), timeout=PATIENCE_S).close()
        except OSError:
            continue
        return True
    return False
