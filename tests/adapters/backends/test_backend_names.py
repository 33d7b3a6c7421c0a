"""The backends that `check` knows are those that `run` can start."""

import pytest

from holdfast.adapters.backends import backend_names
from holdfast.adapters.backends.local import LocalBackend
from holdfast.app.run.backends import BACKENDS
from holdfast.core.run.backends import capabilities_of
from holdfast.ports import NamedBackend


def test_check_and_run_know_the_same_backends() -> None:
    """`holdfast check` objects to a backend's name exactly where `holdfast run` would refuse it."""
    assert backend_names() == set(BACKENDS)
    assert {name: each.capabilities for name, each in BACKENDS.items()} == {
        name: capabilities_of(name) for name in BACKENDS
    }


def test_a_backend_has_what_its_capabilities_say() -> None:
    """One that shares no files has them retrieved, or its logs and checkpoints would never arrive; schedules can be listed."""
    for each in BACKENDS.values():
        assert each.capabilities.shares_files == (each.open(None, {}).retrieval is None)
        if each.capabilities.has_schedules:
            assert callable(each.schedules({}).remote_jobs)


@pytest.mark.parametrize("lacking", ["open", "retrieval", "submit", "poll", "stop", "kill", "request_stacks"])
def test_a_backend_that_lacks_a_method_cannot_be_made(lacking: str) -> None:
    """It would answer with None: an attempt that should be killed would go on."""
    methods = {name: each for name, each in vars(LocalBackend).items() if name not in {lacking, "__dict__"}}
    partial = type("Partial", (NamedBackend,), methods)

    with pytest.raises(TypeError, match=lacking):
        partial([], {}, "")
