"""Logs that a collector packed into JSON, or a terminal broke, are read as they were written, with the file's own line numbers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.diagnose.log import Log
from holdfast.engine.diagnose.kept_lines import LogQuery
from holdfast.engine.diagnose.reading import read_log
from holdfast.engine.diagnose.unpacking import unpacked
from holdfast.engine.diagnose.windows import BODY

TRACE = """Traceback (most recent call last):
  File "/home/u/train.py", line 12, in <module>
    trainer.train()
  File "/opt/venv/lib/python3.11/site-packages/transformers/trainer.py", line 1576, in train
    return inner_training_loop(
ValueError: the loss is not what it should be"""
MESSAGE = "".join(
    f"{word} is what it says of {at * 7919}, and more is said elsewhere; " for at, word in enumerate(dir(str)[40:52])
)
SOUGHT = LogQuery(("loss is not what", "the third of them"))


def read(text: str, size: int = 0) -> Log:
    raw = text.encode()
    return read_log([("x", [raw[at : at + size] for at in range(0, len(raw), size)] if size else [raw])], SOUGHT)


def objects(name: str) -> str:
    return "".join(json.dumps({name: f"{line}\n", "stream": "stderr"}) + "\n" for line in TRACE.split("\n"))


@pytest.mark.parametrize("name", ["log", "message", "msg", "event", "textPayload"])
def test_a_line_of_json_is_the_text_in_it(name: str) -> None:
    log = read(objects(name))
    (found,) = log.tracebacks
    assert [frame.line for frame in found.frames] == [12, 1576]
    assert [hit.line.number for hit in log.hits] == [6]
    assert log.lines == 6


@pytest.mark.parametrize(
    "packed",
    [
        {"event": "failed", "level": "error", "exception": TRACE},
        {"message": TRACE, "level": "ERROR"},
        {"message": {"message": "ValueError", "extraInfo": {"py_callstack": TRACE, "timestamp": "1"}}},
        {
            "event": "failed",
            "exception": [
                {
                    "exc_type": "ValueError",
                    "exc_value": "the loss is not what it should be",
                    "frames": [
                        {"filename": "/home/u/train.py", "lineno": 12, "name": "<module>"},
                        {"filename": "trainer.py", "lineno": 1576, "name": "train"},
                    ],
                }
            ],
        },
    ],
    ids=["structlog", "one message", "torchelastic's error file", "structlog's dictionaries"],
)
def test_an_exception_within_one_object_is_a_traceback_of_that_line(packed: dict[str, object]) -> None:
    log = read("starting\n" + json.dumps(packed) + "\nthe third of them\n")
    (found,) = log.tracebacks
    assert [frame.line for frame in found.frames] == [12, 1576]
    assert [hit.line.number for hit in log.hits] == [2, 3]
    assert log.lines == 3


def test_a_traceback_in_a_line_that_is_no_object_is_one_too() -> None:
    log = read("worker said: " + json.dumps(TRACE) + "\nthe third of them\n")
    assert [len(found.frames) for found in log.tracebacks] == [2]
    assert [hit.line.number for hit in log.hits] == [1, 2]


def test_ranks_and_times_of_objects_are_those_of_their_lines() -> None:
    log = read(
        json.dumps({"message": TRACE.rsplit("\n", maxsplit=1)[-1], "rank": 3, "timestamp": "2026-11-20T15:52:41Z"})
        + "\n"
    )
    assert [(hit.line.rank, hit.line.at_s is None) for hit in log.hits] == [(3, False)]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_that_a_terminal_broke_are_whole_again_and_numbers_are_the_files(width: int) -> None:
    broken = "\n".join(
        line[at : at + width] for line in (TRACE + "\n" + MESSAGE).split("\n") for at in range(0, len(line), width)
    )
    log = read(f"{broken}\nthe third of them\n")
    assert log.tracebacks[0].error[0].text == TRACE.rsplit("\n", maxsplit=1)[-1]
    assert [frame.line for frame in log.tracebacks[0].frames] == [12, 1576]
    assert log.hits[-1].line.number == broken.count("\n") + 2
    assert log.lines == broken.count("\n") + 2


def test_metrics_that_are_as_long_as_one_another_are_not_put_together() -> None:
    steps = "".join(
        f"{{'loss': 1.{at:04d}, 'grad_norm': 0.31, 'learning_rate': 1.93e-05, 'epoch': 0.{at:02d}}}\n"
        for at in range(30)
    )
    assert len(read(steps).metrics) == 30


@given(st.text(alphabet='{"logmsgxy}:\\n \n\x0b\x0c', max_size=300), st.integers(1, 40))
def test_whatever_it_is_no_line_is_lost_and_none_is_added(text: str, size: int) -> None:
    raw = text.encode()
    whole = b"".join(unpacked(raw[at : at + size] for at in range(0, len(raw), size)))
    assert whole == b"".join(unpacked([raw]))
    assert whole.count(b"\n") - whole.count(b"\n\x0b") == raw.count(b"\n")


def test_objects_are_read_across_windows() -> None:
    line = json.dumps({"log": "an ordinary line of a healthy job\n"}) + "\n"
    count = BODY // 30
    log = read(line * count + objects("log") + line * 10, size=1 << 20)
    assert [hit.line.number for hit in log.hits] == [count + 6]
    assert log.lines == count + 16
