"""What the environment says of the Hub: where it is, whether it may be contacted, and for how long."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from holdfast.core.errors import UsageError

TIMEOUT: Final = "HOLDFAST_HUB_TIMEOUT_S"
VIEWER: Final = "HOLDFAST_VIEWER"
OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
TRUE: Final = frozenset({"1", "ON", "YES", "TRUE"})
"""What huggingface_hub 2.4 takes for a yes."""
ALL_S: Final = 10.0
"""How long a check may wait for the Hub in all, if nobody says."""


def _no_token() -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """How the Hub is contacted.

    Attributes:
        endpoint: Its address, without a slash at the end.
        viewer: Address of the dataset viewer; empty if there is none.
        timeout_s: How long all questions of one check may take together.
        find_token: Gives the token, or None; it may have to be fetched from elsewhere.
    """

    endpoint: str
    viewer: str = ""
    timeout_s: float = ALL_S
    find_token: Callable[[], str | None] = field(default=_no_token, repr=False)


def why_offline(environ: Mapping[str, str]) -> str:
    """Return the variable that forbids to ask the Hub; empty text where none does.

    >>> why_offline({"HF_HUB_OFFLINE": "1"}), why_offline({"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "yes"})
    ('HF_HUB_OFFLINE', '')
    """
    # The second counts only where the first is empty, as for huggingface_hub.
    variable = next((name for name in OFFLINE if environ.get(name)), "")
    return variable if environ.get(variable, "").upper() in TRUE else ""


def read_timeout(environ: Mapping[str, str]) -> float:
    """Return the time limit for all requests together, in seconds.

    Raises:
        UsageError: The variable is no number above 0.
    """
    limit = environ.get(TIMEOUT) or str(ALL_S)
    try:
        seconds = float(limit)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(
            f"{limit!r} is not a number of seconds above 0", where=TIMEOUT, fix=f"set it to {ALL_S:g}, say"
        )
    return seconds


def read_settings(environ: Mapping[str, str]) -> HubSettings:
    """Return the settings for requests to the Hub that the environment gives.

    Raises:
        UsageError: See `read_timeout`.
    """
    constants = import_module("huggingface_hub.constants")
    endpoint = (environ.get("HF_ENDPOINT") or str(constants.ENDPOINT)).rstrip("/")
    return HubSettings(
        endpoint=endpoint,
        viewer=(environ.get(VIEWER) or derive_viewer(endpoint, str(constants.DATASETS_SERVER_ENDPOINT))).rstrip("/"),
        timeout_s=read_timeout(environ),
        find_token=find_token,
    )


def find_token() -> str | None:
    """Return the token that huggingface_hub would send, None if it would send none.

    Raises:
        Exception: It has to be renewed, and cannot be.
    """
    if import_module("huggingface_hub.constants").HF_HUB_DISABLE_IMPLICIT_TOKEN:
        return None
    token: str | None = import_module("huggingface_hub.utils").get_token()
    return token


def derive_viewer(endpoint: str, known: str) -> str:
    """Return the address of the dataset viewer that goes with a Hub.

    Source: `datasets.utils._dataset_viewer`, 5.2, which puts `datasets-server.` before the Hub's name. huggingface_hub knows one address alone.

    >>> derive_viewer("https://hub.example.org", "https://datasets-server.example.org")
    'https://datasets-server.hub.example.org'
    >>> derive_viewer("http://127.0.0.1:8000", "https://datasets-server.example.org")
    ''
    """
    parts, official = urlsplit(endpoint), urlsplit(known)
    host = parts.hostname or ""
    if official.hostname == f"datasets-server.{host}":
        return known
    return "" if _is_nameless(host) else f"{parts.scheme}://datasets-server.{parts.netloc}"


def _is_nameless(host: str) -> bool:
    """True if nothing can be put before a host's name: it is a number, or this machine."""
    try:
        return bool(ip_address(host))
    except ValueError:
        return "." not in host
