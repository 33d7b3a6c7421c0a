"""Events that travel in a log arrive once and in order, whatever happens to the log on its way; the rest of the log stays as it was."""

import json
import random
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.engine.run.telemetry import CarriedEvent, LogNews, LostEvents, TelemetryReader
from holdfast.payload.runtime import MARKED, mark_event
from holdfast.ports import LogPart

PLAIN = (
    st.lists(
        st.sampled_from(
            [b"line\n", b"  5%|#\r", b"\r 10%|##", b"@", b"@hold", b"a@holdfast b\n", b"\xff\n", b"", b"\r\n"]
        )
        | st.binary(max_size=20),
        max_size=3,
    )
    .map(b"".join)
    .filter(lambda text: b"@holdfast:" not in text)
)
SAID = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20), max_size=3)


def carried(process: str, number: int, said: dict[str, Any]) -> bytes:
    return b"".join(mark_event(process, number, json.dumps(said)))


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, bytes, list[CarriedEvent]]:
    """A log, its text without the events, and the events."""
    log, text, events = b"", b"", []
    for process in draw(st.sampled_from([["a1"], ["a1", "b2"]])):
        for number in range(1, draw(st.integers(1, 6)) + 1):
            plain, said = draw(PLAIN), draw(SAID)
            events.append(CarriedEvent(process, number, said))
            log, text = log + plain + carried(process, number, said), text + plain
    plain = draw(PLAIN)
    return log + plain + b"\n", text + plain + b"\n", events


class Line:
    """A connection that cuts, repeats, swaps, loses and spoils what it carries, but not for ever."""

    def __init__(self, log: bytes, seed: int, faults: Sequence[str]) -> None:
        self._log, self._dice, self._faults = log, random.Random(seed), faults  # noqa: S311 - no secret

    def read(self, offset: int, *, well: bool) -> LogPart:
        if well:
            return LogPart(offset, self._log[offset:])
        fault = self._dice.choice(self._faults)
        begins = max(0, offset - self._dice.randrange(200)) if fault == "repeats" else offset
        data = self._log[begins:]
        first, last = sorted(self._dice.randrange(len(data) + 1) for _ in range(2))
        spoilt = {
            "cuts": data[:first],
            "loses": data[:first] + data[last:],
            "swaps": data[first:last] + data[:first] + data[last:],
            "spoils": data[:first] + b"?" + data[first + 1 :],
        }
        return LogPart(begins, spoilt.get(fault, data))


def read_all(reader: TelemetryReader, line: Line, bad: int) -> tuple[list[Any], bytes]:
    """Read twice until there is nothing new; the first `bad` readings may go wrong. Return the events and the text."""
    events, text, is_second = list[Any](), b"", False
    for turn in count():
        before = reader.offset
        news = reader.feed(line.read(before, well=turn >= bad))
        events += news.events
        text = text[: news.position] + news.text if news.text else text
        if turn > bad and reader.offset == before and not reader.missing:
            if is_second:
                return events, text
            is_second = True
            reader.start_again()
    raise AssertionError


@given(logs(), st.integers(), st.integers(0, 5))
def test_cuts_and_repetitions_change_nothing(log: tuple[bytes, bytes, list[CarriedEvent]], seed: int, bad: int) -> None:
    """Events and text are those of the whole log."""
    events, text = read_all(TelemetryReader(heard=None), Line(log[0], seed, ["cuts", "repeats"]), bad)

    assert events == log[2]
    assert text == log[1]


@given(logs(), st.integers(), st.integers(0, 8))
def test_what_is_missing_is_asked_for_again(log: tuple[bytes, bytes, list[CarriedEvent]], seed: int, bad: int) -> None:
    """Bytes that were lost, spoilt or swapped on the way come right when the log is read again.

    Each process' events keep their order. Where a process followed another, and the end of the first was lost, it comes late.
    """
    faults = ["cuts", "repeats", "loses", "swaps", "spoils"]
    events, text = read_all(TelemetryReader(heard=None), Line(log[0], seed, faults), bad)

    assert sorted(events, key=lambda event: event.process) == log[2]
    assert text == log[1]


@given(logs(), st.data())
def test_a_reader_that_takes_over_returns_what_was_not_read(
    log: tuple[bytes, bytes, list[CarriedEvent]], data: st.DataObject
) -> None:
    """A supervisor that was killed knows the events of the ledger, and reads the log from its start."""
    known = data.draw(st.integers(0, len(log[2])))
    heard = {event.process: event.number for event in log[2][:known]}
    events, text = read_all(TelemetryReader(heard), Line(log[0], 0, ["cuts"]), 2)

    assert events == log[2][known:]
    assert text == log[1]


@pytest.mark.parametrize(("kept", "instead"), [(0, b""), (40, b"?"), (30, b""), (5, b"\n")])
def test_what_stays_missing_is_lost_and_said_so(kept: int, instead: bytes) -> None:
    """After some readings of the whole log, and the events behind it are not."""
    lines = [carried("ab", number, {"step": number, "text": "x" * 40}) for number in range(1, 9)]
    log = b"".join(line[:kept] + instead if number in (3, 4) else line for number, line in enumerate(lines, 1))
    events, text = read_all(TelemetryReader(heard=None), Line(log, 0, ["cuts"]), 0)

    assert [each.number if isinstance(each, CarriedEvent) else each for each in events] == [
        1,
        2,
        LostEvents("ab", 3, 4),
        5,
        6,
        7,
        8,
    ]
    assert b"@holdfast" not in text


def test_a_part_of_a_long_event_that_is_lost_loses_the_event() -> None:
    """An event is never put together from parts of two."""
    long = mark_event("ab", 1, json.dumps({"text": "@" * MARKED}))
    assert len(long) > 3
    for missing in range(len(long)):
        log = b"".join(long[:missing] + long[missing + 1 :]) + carried("ab", 2, {"event": "end"})
        events, _ = read_all(TelemetryReader(heard=None), Line(log, 0, ["cuts"]), 0)

        assert events == [LostEvents("ab", 1, 1), CarriedEvent("ab", 2, {"event": "end"})]


def test_a_bar_that_an_event_interrupts_is_drawn_on() -> None:
    """The event begins in the middle of its row, and takes its own newline with it."""
    reader = TelemetryReader(heard=None)
    news = reader.feed(LogPart(0, b"\r 5%|#  |" + carried("ab", 1, {"event": "end"}) + b"\r10%|## |"))

    assert news == LogNews([CarriedEvent("ab", 1, {"event": "end"})], b"\r 5%|#  |\r10%|## |", 0)
    assert reader.ended


def test_an_event_is_read_though_the_service_has_not_sent_its_newline() -> None:
    """It is the last line that there is; the newline that follows later belongs to it, and is not shown."""
    reader, line = TelemetryReader(heard=None), carried("ab", 1, {"event": "end"})

    assert reader.feed(LogPart(0, line[:-1])).events == [CarriedEvent("ab", 1, {"event": "end"})]
    assert reader.feed(LogPart(len(line) - 1, b"\nbye\n")).text == b"bye\n"


@pytest.mark.parametrize("parts", [1, 2])
def test_a_process_that_was_killed_in_the_middle_of_an_event_spoils_none_of_another(parts: int) -> None:
    """The parts of an event are those of one process."""
    long = mark_event("ab", 1, json.dumps({"text": "x" * 3 * MARKED}))
    other = {"event": "start", "text": "y" * 2 * MARKED}
    events, _ = read_all(
        TelemetryReader(heard=None), Line(b"".join(long[:parts]) + carried("cd", 1, other), 0, ["cuts"]), 0
    )

    assert events == [CarriedEvent("cd", 1, other)]


@pytest.mark.parametrize("order", [(2, 1, 3), (3, 2, 1), (2, 3, 1)])
def test_events_out_of_order_are_read_in_order(order: tuple[int, ...]) -> None:
    """Lines are in the order of their times, and a clock may be set back. None of them is lost."""
    log = b"".join(b"text\n" + carried("ab", number, {"step": number}) for number in order)
    events, text = read_all(TelemetryReader(heard=None), Line(log, 0, ["cuts"]), 0)

    assert events == [CarriedEvent("ab", number, {"step": number}) for number in (1, 2, 3)]
    assert text == b"text\n" * 3
