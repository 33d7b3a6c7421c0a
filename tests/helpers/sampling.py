"""Long tables: a fixed sample of their cases belongs to `make check`, all of them to `make check-all`."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(names: Iterable[object], every: int) -> list[Any]:
    """Return the names for `parametrize`; all but every nth are `long`."""
    return [pytest.param(name, marks=[pytest.mark.long] if number % every else []) for number, name in enumerate(names)]


def asked(request: pytest.FixtureRequest, argument: str = "name") -> set[Any]:
    """Return the cases that this session runs of the module that asks, so that a shared fixture prepares no others."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    ours = [item for item in items if item.module is request.module and hasattr(item, "callspec")]
    return {item.callspec.params[argument] for item in ours if argument in item.callspec.params}
