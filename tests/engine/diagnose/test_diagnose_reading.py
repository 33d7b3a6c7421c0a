"""Logs of any size and kind, as what may decide."""

import gzip
import io
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.storage.log_files import open_logs
from holdfast.core.diagnose.log import Log
from holdfast.core.errors import SourceError, UsageError
from holdfast.engine.diagnose.kept_lines import MOST_HITS, LogQuery
from holdfast.engine.diagnose.reading import read_log
from holdfast.engine.diagnose.windows import BODY

WORD = "CUDA out of memory"
SOUGHT = LogQuery((WORD, "second word"))


def read(text: bytes | str, size: int = 0) -> Log:
    raw = text.encode() if isinstance(text, str) else text
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)] if size else [raw]
    return read_log([("x.log", pieces)], SOUGHT)


def numbers(log: Log) -> list[int]:
    return [hit.line.number for hit in log.hits]


def test_lines_are_counted_by_line_feeds_alone() -> None:
    log = read(f"a\r\nb\rc\r\n{WORD}\n  1%|█| 1/9 [00:01<00:09, 1.0s/it]\r{WORD}")
    assert numbers(log) == [3, 4]
    assert log.lines == 4


def test_only_lines_with_a_word_are_hits_with_the_lines_of_their_rank_around() -> None:
    lines = [f"[rank{number % 2}]: line {number}" for number in range(30)]
    lines[11] = f"[rank1]: {WORD} and second word"
    (hit,) = read("\n".join(lines)).hits
    assert (hit.line.number, hit.line.rank, hit.words) == (12, 1, frozenset({0, 1}))
    assert [line.text for line in hit.around] == [f"line {number}" for number in (3, 5, 7, 9, 13, 15, 17, 19, 21, 23)]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(0, 40))
def test_it_makes_no_difference_how_the_bytes_come(size: int, before: int) -> None:
    text = (
        "é line\n" * before
        + f'\x1b[31m{WORD}\x1b[0m on GPU\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: x\n'
    )
    assert read(text, size) == read(text)


def test_escapes_within_a_word_do_not_hide_it() -> None:
    assert numbers(read("\x1b[1;31mCUDA out\x1b[0m of \x1b[36mmemory\x1b[0m\n")) == [1]


def test_what_stands_on_the_border_of_two_windows_is_found_once() -> None:
    padding = b"x" * 99 + b"\n"
    for shift in (0, 5, 9, 17):
        start = padding * (BODY // 100) + b"y" * (BODY % 100 - shift)
        log = read(start + WORD.encode() + b"\n" + padding * 5000, size=1 << 20)
        assert [hit.words for hit in log.hits] == [frozenset({0})]


def test_a_line_of_many_megabytes_is_read_around_the_word() -> None:
    log = read(b"a" * 20_000_000 + WORD.encode() + b"b" * 5_000_000 + b"\nlast\n", size=1 << 20)
    (hit,) = log.hits
    assert hit.line.number == 1
    assert len(hit.line.text) < 20_000
    assert log.lines == 2
    assert log.tail[-1].text == "last"


@pytest.mark.long
def test_half_a_million_hits_take_no_more_memory_than_some_thousand() -> None:
    piece = f"{WORD} again and again and again\n".encode() * 20_000

    def pieces() -> Iterator[bytes]:
        yield from [piece] * 30
        yield b"second word\n"

    tracemalloc.start()
    log = read_log([("x.log", pieces())], SOUGHT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert log.lines == 600_001
    assert len(log.hits) <= 2 * MOST_HITS
    assert log.hits[0].line.number == 1
    assert log.hits[-1].words == frozenset({1})
    assert peak < 150e6


def test_metrics_are_read_as_numbers_and_as_text_and_nan_wherever_it_stands() -> None:
    good = "{'loss': 1.5, 'grad_norm': np.float64(0.3), 'epoch': 0.1}\n"
    log = read(good * 3000 + "{'loss': '2.1', 'grad_norm': 'nan', 'epoch': '0.2'}\n" + good * 3000)
    assert log.metrics[0].values == {"loss": 1.5, "grad_norm": 0.3, "epoch": 0.1}
    (odd,) = (step for step in log.metrics if math.isnan(step.values["grad_norm"]))
    assert odd.line.number == 3001


def test_the_bar_of_the_training_tells_how_far_it_got() -> None:
    log = read(
        "Loading weights: 100%|███| 339/339 [00:04<00:00, 78.26it/s]\n\r  1%|█| 1/90 [00:01<00:09, 1.0s/it]\r 2%|█| 7/90 [00:01<00:09, 1.0s/it]\n"
    )
    assert log.progress == (7, 90)


def test_several_files_are_one_log_and_names_tell_ranks() -> None:
    log = read_log([("out/rank_0.log", [b"fine\n"]), ("out/rank_3.log", [f"{WORD}\n".encode()])], SOUGHT)
    (hit,) = log.hits
    assert (hit.line.path, hit.line.rank, log.lines) == ("out/rank_3.log", 3, 2)


def test_an_empty_log_has_nothing() -> None:
    log = read(b"")
    assert (log.lines, log.hits, log.head) == (0, (), ())


def opened(path: Path) -> Log:
    return read_log(open_logs([str(path)]), SOUGHT)


def test_compressed_wide_and_plain_files_are_the_same_log(tmp_path: Path) -> None:
    text = f"première\n{WORD}\n"
    (tmp_path / "plain.log").write_text(text, encoding="utf-8")
    (tmp_path / "packed.log").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "wide.log").write_text(text, encoding="utf-16")
    (tmp_path / "old.log").write_text(text, encoding="latin-1")
    for name in ("plain", "packed", "wide", "old"):
        log = opened(tmp_path / f"{name}.log")
        assert numbers(log) == [2]
        assert log.head[0].text == "première"


def test_a_compressed_file_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    packed = gzip.compress(f"{WORD}\n".encode() + bytes(range(32, 120)) * 5000, compresslevel=0)
    (tmp_path / "cut.log").write_bytes(packed[:-2000])
    assert numbers(opened(tmp_path / "cut.log")) == [1]


def test_a_folder_stands_for_its_logs(tmp_path: Path) -> None:
    for name in ("b.log", "a.err", "model.safetensors"):
        (tmp_path / name).write_text(f"{WORD}\n", encoding="utf-8")
    assert [Path(name).name for name, _ in open_logs([str(tmp_path)])] == ["a.err", "b.log"]


def test_standard_input_is_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{WORD}\n".encode())))
    assert numbers(read_log(open_logs(["-"]), SOUGHT)) == [1]


def test_a_path_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such log"):
        open_logs([str(tmp_path / "none.log")])
    with pytest.raises(UsageError, match="no log in this folder"):
        open_logs([str(tmp_path)])


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.log").write_bytes(bytes(range(256)) * 100 + b"\0" * 1000)
    with pytest.raises(UsageError, match="binary"):
        opened(tmp_path / "model.log")


def test_a_file_that_goes_away_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone.log").write_text("x", encoding="utf-8")
    logs = open_logs([str(tmp_path / "gone.log")])
    (tmp_path / "gone.log").unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        read_log(logs, SOUGHT)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from(
        ["Traceback (most recent call last):\n", WORD, '{"loss": ', "\x1b[31m", "│ ", "\r 5%|█| 1/2 [00:01<"]
    ),
    st.integers(1, 50),
)
def test_whatever_the_bytes_are_they_are_read(raw: bytes, said: str, size: int) -> None:
    text = raw[: len(raw) // 2] + said.encode() + raw[len(raw) // 2 :] + b"\nlast"
    log = read(text, size)
    assert log.lines == text.count(b"\n") + 1


def test_bars_of_saving_after_the_last_step_do_not_hide_it() -> None:
    steps = "".join(
        f"\r {step}%|█| {step}/90 [00:01<00:09, {'1.0s/it' if step < 9 else '2.0it/s'}]" for step in (3, 7, 90)
    )
    log = read(steps + "\n" + "Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 102.69it/s]\n" * 3)
    assert log.progress == (90, 90)


def test_a_rank_of_thousands_of_digits_is_no_rank() -> None:
    """Python reads no number of so many digits."""
    assert [line.text[:6] for line in read(f"[rank{'9' * 5000}]: {WORD}\n").tail] == ["[rank9"]
