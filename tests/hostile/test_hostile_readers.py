"""No input makes a reader fail: an answer or an error of ours, whatever is in a file."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.helpers.hostile_readers import READERS, run_reader

FOUND: Final = Path(__file__).parent / "found"
"""Inputs that made a reader fail, each named after the reader."""
INPUTS: Final = 3
"""Of each reader, in `make check`; `python -m benchmarks.fuzz` reads as many as it is told."""
MANY: Final = 300
QUIET: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def read_one(name: str, choose: Callable[[int], int], monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as folder, monkeypatch.context() as patch:
        patch.chdir(folder)
        run_reader(READERS[name], READERS[name].place(Path(folder)), READERS[name].input(choose))


@pytest.mark.parametrize("name", READERS)
def test_no_input_makes_a_reader_fail(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Good files with bytes, lines, numbers, types and structure changed."""

    @settings(max_examples=INPUTS, suppress_health_check=QUIET, phases=(Phase.generate,))
    @given(st.data())
    def read(data: st.DataObject) -> None:
        read_one(name, lambda bound: data.draw(st.integers(0, max(0, bound - 1))), monkeypatch)

    read()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", READERS)
def test_many_inputs_make_no_reader_fail(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Likewise, with more of them, and with the smallest input that fails."""

    @settings(max_examples=MANY, suppress_health_check=QUIET)
    @given(st.data())
    def read(data: st.DataObject) -> None:
        read_one(name, lambda bound: data.draw(st.integers(0, max(0, bound - 1))), monkeypatch)

    read()


@pytest.mark.parametrize("name", READERS)
def test_good_inputs_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """What the changes start from is read without an error."""
    monkeypatch.chdir(tmp_path)
    path = READERS[name].place(tmp_path)
    for seed in READERS[name].seeds()[:2]:
        path.write_bytes(seed)
        READERS[name].read(path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("found", sorted(path.name for path in FOUND.iterdir()))
def test_an_input_that_made_a_reader_fail_does_so_no_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: str
) -> None:
    """Those that the fuzzer found."""
    monkeypatch.chdir(tmp_path)
    reader = READERS[found.rpartition("-")[0]]
    run_reader(reader, reader.place(tmp_path), (FOUND / found).read_bytes())
