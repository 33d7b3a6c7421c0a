"""Asking a Hub on loopback in this process, as `holdfast` asks the real one."""

from typing import Any

from holdfast.adapters.hub.answers import ResponseCache
from holdfast.adapters.hub.client import HubClient
from holdfast.adapters.hub.settings import ALL_S, HubSettings
from holdfast.adapters.hub.wire import CircuitBreaker
from holdfast.core.check.hub import RepoKind
from holdfast.core.check.reference import Reference, ReferenceRole
from tests.helpers.hub import LoopbackHub

MINE = "hf_me_write"
"""What the loopback Hub gives to `me`."""
KINDS: dict[str, RepoKind] = {"dataset": "dataset", "space": "space"}


def client(hub: LoopbackHub, token: str | None = MINE, *, timeout_s: float = ALL_S) -> HubClient:
    """Return the Hub as one token sees it, with nothing known of it yet."""
    settings = HubSettings(endpoint=hub.address, viewer=hub.viewer, timeout_s=timeout_s, find_token=lambda: token)
    return HubClient(settings, answers=ResponseCache(), reach=CircuitBreaker())


def reference(role: ReferenceRole, name: str, **details: Any) -> Reference:
    """Return what a job would name."""
    return Reference(**{"role": role, "name": name, "key": role, "repo_kind": KINDS.get(role, "model"), **details})
