"""The backends that `check` knows are those that `run` can start."""

from holdfast.adapters.backends import backend_names
from holdfast.app.run.backends import OPENERS
from holdfast.core.backends import capabilities_of


def test_check_and_run_know_the_same_backends() -> None:
    """`holdfast check` objects to a backend's name exactly where `holdfast run` would refuse it."""
    opened = {name: open_(None, {}) for name, open_ in OPENERS.items()}

    assert backend_names() == set(OPENERS)
    assert {name: each.capabilities for name, each in opened.items()} == {
        name: capabilities_of(name) for name in OPENERS
    }


def test_a_backend_that_shares_no_files_has_them_retrieved() -> None:
    """Or its logs, events and checkpoints would never arrive."""
    for open_ in OPENERS.values():
        backend = open_(None, {})
        assert backend.capabilities.shares_files == (backend.retrieval is None)
