"""The backends that `check` knows are those that `run` can start."""

from holdfast.adapters.backends import backend_names
from holdfast.app.run.backends import BACKENDS
from holdfast.core.run.backends import capabilities_of


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
