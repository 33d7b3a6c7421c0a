"""Ctrl-C while a run is supervised: it asks and does not wait, a second one detaches, a third ends the training at once."""

import os
import pty
import signal
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from holdfast.adapters.terminal.keys import Keys
from holdfast.adapters.terminal.orders import AGAIN_S, SignalOrders
from holdfast.cli.terminal.ctrl_c import LEAVING, QUESTION, CtrlCQuestion
from holdfast.core.run.event import Liveness, RunStage, StopRequested
from holdfast.engine.run.drive import Dependencies, drive
from holdfast.engine.run.supervise import Limits
from holdfast.ports import Order
from tests.engine.run.test_supervise import dependencies
from tests.helpers.fakes import FakeBackend, FakeClock, FakeStore, Look


class FakeKeys:
    """Keys that were pressed by the test."""

    def __init__(self) -> None:
        self.pressed, self.is_open = "", False

    def open(self) -> None:
        self.is_open = True

    def take(self) -> str:
        taken, self.pressed = self.pressed, ""
        return taken

    def close(self) -> None:
        self.is_open = False


class Person:
    """A person at a terminal: presses keys and Ctrl-C, and reads what is shown; time passes when they say so."""

    def __init__(self) -> None:
        self.keys, self.shown, self.now_s = FakeKeys(), list[str](), 0.0
        self.orders = SignalOrders(CtrlCQuestion(self.keys, self.shown.append), lambda: self.now_s)
        self.orders.supervising = True

    def interrupts(self) -> Order | None:
        """Press Ctrl-C; return what the supervisor hears at its next look."""
        os.kill(os.getpid(), signal.SIGINT)
        return self.orders.take()

    def presses(self, key: str) -> Order | None:
        self.keys.pressed = key
        return self.orders.take()


@pytest.fixture
def person() -> Iterator[Person]:
    someone = Person()
    with someone.orders.listening():
        yield someone


def test_ctrl_c_asks_and_waits_for_nothing(person: Person) -> None:
    """The supervisor goes on with its looks until there is an answer."""
    assert person.interrupts() is None
    assert [person.orders.take() for _ in range(3)] == [None] * 3
    assert (person.shown, person.keys.is_open) == ([QUESTION], True)


@pytest.mark.parametrize(("key", "order"), [("s", "stop"), ("D", "detach"), ("c", None), ("\n", None), ("xs", "stop")])
def test_one_key_answers(person: Person, key: str, order: Order | None) -> None:
    """The question is gone then, and the terminal is as it was."""
    person.interrupts()

    assert person.presses(key) == order
    assert (person.shown[-1], person.keys.is_open) == ("", False)
    assert person.orders.interrupted is (order is not None)


def test_whoever_continues_is_asked_again(person: Person) -> None:
    """The next Ctrl-C is a first one."""
    person.interrupts()
    person.presses("c")

    assert person.interrupts() is None
    assert person.shown[-1] == QUESTION


def test_second_ctrl_c_detaches_once_no_third_can_come(person: Person) -> None:
    """The run is looked after for that second, too."""
    person.interrupts()

    assert person.interrupts() is None
    assert person.shown[-1] == LEAVING
    person.now_s += AGAIN_S + 0.1
    assert person.orders.take() == "detach"
    assert not person.keys.is_open


def test_third_ctrl_c_within_a_second_ends_it_at_once(person: Person) -> None:
    """A person who presses three times wants it to end."""
    person.interrupts()
    person.interrupts()
    person.now_s += AGAIN_S / 2

    assert person.interrupts() == "kill"


def test_three_presses_between_two_looks_count_as_three(person: Person) -> None:
    """Nobody has to know how often the supervisor looks."""
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGINT)

    assert person.orders.take() == "kill"


def test_ctrl_c_before_there_is_a_run_interrupts(person: Person) -> None:
    """A rehearsal of a minute is not waited for."""
    person.orders.supervising = False

    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert person.orders.interrupted


def test_where_nobody_can_be_asked_the_first_stops_and_the_second_ends_it() -> None:
    """As in a batch job."""
    orders = SignalOrders()
    orders.supervising = True
    with orders.listening():
        told: list[Order | None] = []
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            told.append(orders.take())

    assert told == ["stop", "kill"]


def test_run_that_ends_while_the_question_stands_is_closed() -> None:
    """It ended 80 seconds before the ledger knew: the question was waited for."""
    someone, store = Person(), FakeStore()
    looks = [Look(answer=Liveness.ALIVE)] * 3
    with someone.orders.listening():
        os.kill(os.getpid(), signal.SIGINT)
        state = drive("r", Limits(), asking(dependencies(FakeBackend(looks), store), someone.orders.take))

    assert someone.shown[0] == QUESTION
    assert state.stage is RunStage.SUCCEEDED


def test_run_that_is_ended_at_once_counts_as_cancelled() -> None:
    """By a person, and not by a failure."""
    someone, store, backend = Person(), FakeStore(), FakeBackend([Look(answer=Liveness.ALIVE)] * 3)
    with someone.orders.listening():
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
        drive("r", Limits(), asking(dependencies(backend, store), someone.orders.take))

    assert backend.killed == ["r/1"]
    assert [event.by for _, event in store.rows if isinstance(event, StopRequested)] == ["a person"]


def asking(given: Dependencies, take: Callable[[], Order | None]) -> Dependencies:
    """Return doors with somebody else's orders."""

    class Taken:
        def take(self) -> Order | None:
            return take()

    return Dependencies(
        store=given.store,
        backend=given.backend,
        output=given.output,
        clock=FakeClock(),
        prepare=given.prepare,
        diagnose=given.diagnose,
        verify=given.verify,
        evaluate=given.evaluate,
        export=given.export,
        orders=Taken(),
        observe=given.observe,
    )


@contextmanager
def pseudo_terminal() -> Iterator[tuple[int, int]]:
    """Yield the person's end and the program's end of a terminal."""
    person, program = pty.openpty()
    try:
        yield person, program
    finally:
        os.close(person)
        os.close(program)


def test_keys_of_a_terminal_are_heard_without_enter_and_without_waiting() -> None:
    """Afterwards the terminal takes whole lines again, and shows what is typed."""
    with pseudo_terminal() as (person, program):
        before = termios.tcgetattr(program)
        keys = Keys(program)
        keys.open()
        assert keys.take() == ""
        os.write(person, b"s")
        assert keys.take() == "s"
        assert termios.tcgetattr(program)[3] & termios.ISIG  # Ctrl-C stays a signal
        keys.close()

        assert termios.tcgetattr(program) == before
