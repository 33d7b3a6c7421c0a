"""What holds for every test of a backend."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.adapters.backends.harnesses import processes_with


@pytest.fixture(autouse=True)
def end_what_is_left(tmp_path: Path) -> Iterator[None]:
    """No test leaves a process of its own."""
    yield
    for process in processes_with(str(tmp_path)):
        with suppress(psutil.NoSuchProcess):
            process.kill()
