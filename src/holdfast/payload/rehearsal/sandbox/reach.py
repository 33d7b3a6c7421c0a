"""Hosts that a rehearsal may ask: the Hub's, those below its domain, the proxies on the way to it, and this machine."""

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.", "::1", "0.0.0.0")  # noqa: S104 - nothing is bound to it
SIBLINGS = ("hf.co",)
"""Where the Hub sends those who ask for large files, beside hosts of its own name."""
READS = ("GET", "HEAD", "OPTIONS")
ASKS = ("paths-info", "validate-yaml", "whoami-v2")
"""What is asked with POST, and changes nothing."""


def hub_endpoint(variables: Mapping[str, str]) -> str:
    """Return the address of the Hub."""
    return variables.get("HF_ENDPOINT") or "https://huggingface.co"


def proxies(variables: Mapping[str, str]) -> list[str]:
    """Return the addresses of proxies that variables name."""
    return [value for name, value in variables.items() if name.lower().endswith("_proxy") and "//" in value]


def hosts(variables: Mapping[str, str], *, offline: bool) -> tuple[str, ...]:
    """Return the hosts that may be contacted."""
    if offline:
        return ()
    endpoint = urlsplit(hub_endpoint(variables)).hostname or ""
    return (
        endpoint,
        ".".join(endpoint.split(".")[-2:]),
        *SIBLINGS,
        *(urlsplit(each).hostname or "" for each in proxies(variables)),
    )


def is_local(host: str) -> bool:
    """Return whether a host is this machine."""
    return not host or host.startswith(LOOPBACK) or host == socket.gethostname()


def is_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    """Return whether a host may be contacted.

    >>> is_allowed("cdn-lfs.huggingface.co", ("huggingface.co",)), is_allowed("example.org", ("huggingface.co",))
    (True, False)
    """
    return is_local(host) or any(host == each or host.endswith(f".{each}") for each in allowed if each)


def is_read(method: str, target: str) -> bool:
    """Return whether a request only reads.

    >>> is_read("GET", "/a"), is_read("POST", "/api/models/a/commit/main"), is_read("POST", "/api/models/a/paths-info/main")
    (True, False, True)
    """
    return method in READS or (method == "POST" and any(each in target.split("/") for each in ASKS))
