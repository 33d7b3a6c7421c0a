"""One rehearsal server for all tests of a process: it imports the libraries once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.rehearsing import Rehearse, start_rehearsals


@pytest.fixture(scope="session")
def kept_rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Rehearse]]:
    with start_rehearsals(tmp_path_factory.mktemp("rehearsals")) as started:
        yield started


@pytest.fixture(name="rehearse")
def rehearse_in_world(kept_rehearsals: tuple[Path, Rehearse], monkeypatch: pytest.MonkeyPatch) -> Rehearse:
    """What rehearses a job, in the folder where its files are."""
    world, rehearse = kept_rehearsals
    monkeypatch.chdir(world)
    return rehearse
