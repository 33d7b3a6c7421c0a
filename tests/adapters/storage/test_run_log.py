"""The log of a run: kept with full times in the run's folder."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.adapters.storage.run_log import LOG, log_to_run
from holdfast.core.errors import LedgerError


@pytest.fixture(autouse=True)
def clean_log() -> Iterator[None]:
    before = LOG.handlers[:], LOG.level, LOG.propagate
    yield
    LOG.handlers[:], LOG.level, LOG.propagate = before


def test_the_file_has_the_full_time_of_each_line(tmp_path: Path) -> None:
    """With the date, milliseconds and the zone: a run may go on for days, and be read elsewhere."""
    with log_to_run(tmp_path, "20261121"):
        LOG.info("attempt %d starts", 1)
    line = (tmp_path / "logs" / "20261121.log").read_text(encoding="utf-8")

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d INFO    attempt 1 starts\n", line)


def test_a_resumed_run_goes_on_in_its_file(tmp_path: Path) -> None:
    """Nothing that was written before is lost, and after the block nothing more is written."""
    for word in ("first", "second"):
        with log_to_run(tmp_path, "20261121"):
            LOG.warning(word)
    LOG.warning("third")

    words = [line.split()[-1] for line in (tmp_path / "logs" / "20261121.log").read_text().splitlines()]
    assert words == ["first", "second"]


def test_a_log_that_cannot_be_written_is_told_as_an_error(tmp_path: Path) -> None:
    """What, where, how to fix; no traceback."""
    (tmp_path / "logs").write_text("a file in the way")

    with pytest.raises(LedgerError, match="the run's log cannot be written"), log_to_run(tmp_path, "20261121"):
        pass


def test_a_disk_that_fills_up_costs_lines_of_the_log_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback of logging's own among what the supervisor shows."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "20261121.log").symlink_to("/dev/full")

    with log_to_run(tmp_path, "20261121"):
        LOG.info("attempt 1 starts")

    assert capsys.readouterr().err == ""
