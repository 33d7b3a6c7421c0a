"""The view of a run: a panel on a terminal, plain lines elsewhere, everything on the console it is given."""

import io
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run.runs import Run
from holdfast.cli.terminal.display import RunDisplay
from holdfast.cli.terminal.live import LiveView, render_panel
from holdfast.cli.text.news import render_news
from holdfast.core.run.event import (
    Closed,
    Event,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
)
from holdfast.core.run.run_state import RunState, fold
from holdfast.engine.run.progress import follow

RUN = "quickstart-20261121-190150-x7"
ASKED = RunRequested(at_s=0, folder=f"/runs/{RUN}")
BEGUN = (Starting(at_s=1, attempt=1, backend="local"), Started(at_s=1, attempt=1, id="1"))
ESCAPE = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


@pytest.mark.parametrize(
    ("stop", "steps", "said"),
    [
        (StopRequested(at_s=9, by=Stopper.PERSON), 4, "a person: saves a checkpoint, then ends"),
        (StopRequested(at_s=9, by=Stopper.PERSON, kills=True), 4, "a person: killed at once, without a checkpoint"),
        (StopRequested(at_s=9, by=Stopper.PERSON), 0, "a person: ends; there is no step to save yet"),
        (StopRequested(at_s=9, by=Stopper.STALL), 4, "and is killed if it cannot"),
        (StopRequested(at_s=9, by=Stopper.STALL), 0, "the watch on progress: ends"),
    ],
)
def test_each_terminal_says_what_a_stop_does(stop: StopRequested, steps: int, said: str) -> None:
    """A kill saves nothing, nor does what has done no step; what hangs may not."""
    done = [Reported(at_s=2, attempt=1, said={"event": "step", "step": n, "max_steps": 9}) for n in range(1, steps + 1)]
    line = str(render_news(stop, follow([ASKED, *BEGUN, *done, stop]), 10.0))

    assert said in line
    assert ("saves a checkpoint" in line) is (steps > 0 and not stop.kills)


HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


def on_terminal(written: str) -> list[str]:
    """What a terminal shows after these bytes: lines, carriage returns, cursor up and erasing are obeyed."""
    rows, row = [""], 0
    for part in re.findall(r"\x1b\[[\d;?]*[a-zA-Z]|\r|\n|[^\x1b\r\n]+", written):
        if part == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        elif part == "\x1b[2K":
            rows[row] = ""
        elif part.startswith("\x1b") and part.endswith("A"):
            row -= int(part[2:-1])
        elif not part.startswith(("\x1b", "\r")):
            rows[row] += part
    return [line for line in rows if line.strip()]


class Terminal:
    """A console that remembers, with the view on it and a clock that stands where it is put."""

    def __init__(self, *, tty: bool = False, width: int = 80, file: IO[str] | None = None, **options: str) -> None:
        self.file = io.StringIO()
        self.console = Console(
            file=file or self.file,
            force_terminal=tty,
            width=width,
            highlight=False,
            _environ={"TERM": "xterm", **options},
        )
        self.now_s = 30.0
        self.view = LiveView(self.console, RUN, lambda: self.now_s)

    def shown(self, *happened: Sequence[Event] | bytes) -> str:
        """Show events and what the process wrote, in turn; return what was printed."""
        with self.view:
            for part in happened:
                if isinstance(part, bytes):
                    self.view.write("stderr", part)
                else:
                    self.view.observe(RunState(), part)
        return self.file.getvalue()


def said(event: str, at_s: float = 2, **fields: object) -> Reported:
    return Reported(at_s=at_s, attempt=1, said={"event": event, "at": at_s, **fields})


def step(number: int, **fields: object) -> Reported:
    told = {"step": number, "max_steps": 300, "tokens": 100 * number, "loss": 9.0 - number / 100, **fields}
    return said("step", at_s=float(number), **told)


def test_plain_lines_tell_attempts_steps_evaluations_and_checkpoints() -> None:
    """Without a terminal each event is a line, and there is nothing that moves or is coloured."""
    events: list[Event] = [
        *BEGUN,
        said("start", at_s=0, step=0, max_steps=300, parameters=2_756_224),
        step(5, loss=7.125, grad_norm=1.5, learning_rate=0.0009),
        step(10),
        said("evaluate", step=10, metrics={"eval_loss": 3.5, "eval_f1": 0.25, "eval_runtime": 3.0}),
        said("checkpoint", step=10, path="/runs/r/checkpoints/checkpoint-10", bytes=33_438_947),
        said("best", step=10, checkpoint="/runs/r/checkpoints/checkpoint-10", metric="eval_f1", value=0.25),
    ]
    shown = Terminal().shown([ASKED], events)

    assert shown.splitlines() == [
        "attempt 1 on local",
        "loading libraries, data and model",
        "training 2.76 M parameters, 300 steps",
        "step   5/300  loss 7.12  grad_norm 1.50  learning_rate 0.0009  4 min 54 s left",
        "step  10/300  loss 8.90  100 tokens/s  4 min 49 s left",
        "evaluation at step 10  eval_loss 3.50  eval_f1 0.250",
        "saved checkpoint-10  33.4 MB",
        "the model is that of checkpoint-10, the best by eval_f1 0.250",
    ]


def test_an_adapter_is_counted_apart_from_the_model_it_is_for() -> None:
    """What is trained of it, as the report has it."""
    events: list[Event] = [
        *BEGUN,
        said("start", at_s=0, step=0, max_steps=300, parameters=3_323_904, trainable=344_064),
    ]

    assert "training 344 k of 3.32 M parameters, 300 steps" in Terminal().shown([ASKED], events)


def test_steps_that_log_nothing_are_no_lines() -> None:
    """The trainer logs every so many steps; a line each would drown the rest."""
    quiet = [step(number, loss=None) for number in range(1, 100)]

    assert Terminal().shown([ASKED], quiet) == ""


def test_a_loss_that_is_not_finite_is_told() -> None:
    """JSON holds no NaN: the process names what was not finite."""
    assert "loss is not finite" in Terminal().shown([ASKED], [step(1, loss=None, nan=["loss"])])


def test_the_training_process_is_heard_without_noise() -> None:
    """Its lines come through as they are, however long; the trainer's own log of a step does not."""
    long = "x" * 500
    shown = Terminal().shown([ASKED], f"{long}\n{{'loss': '8.1', 'epoch': '0.01'}}\nKilled".encode())

    assert shown.splitlines() == [long, "Killed"]


def test_a_finished_bar_stands_before_the_steps_that_follow_it() -> None:
    """A library leaves the bar of its last row on the screen for as long as it trains."""
    bar = "Tokenizing train dataset: 100%|███| 40/40 [00:01<00:00, 40.0 ex/s]"

    assert Terminal().shown([ASKED, *BEGUN], f"{bar}\n".encode(), [step(141)]).splitlines()[-2:] == [
        bar,
        "step 141/300  loss 7.59",
    ]


def test_brackets_of_the_process_are_no_markup() -> None:
    """`[rank0]` and `[/]` are text."""
    assert Terminal().shown([ASKED], b"[rank0]: [bold]x[/]\n") == "[rank0]: [bold]x[/]\n"


def test_what_happened_before_is_taken_in_silently() -> None:
    """Whoever watches a run that goes on sees where it stands, and then what comes."""
    started = said("start", at_s=0, step=0, max_steps=300)
    history: list[Event] = [ASKED, *BEGUN, started, *(step(number) for number in range(1, 141))]

    assert Terminal().shown(history, [step(141)]).splitlines() == [
        "training: step 140/300",
        "step 141/300  loss 7.59  100 tokens/s  2 min 39 s left",
    ]


def test_what_nobody_read_before_is_no_news() -> None:
    """The supervisor was killed, training went on: whoever stops the run now sees where it stands, and then what comes."""
    unread = [step(number, at=float(number)) for number in range(1, 21)]
    terminal = Terminal()
    told = terminal.shown([ASKED, *BEGUN], unread, [step(21, at=21.0)], [step(31, at=31.0)])

    assert re.findall("^.*step +\\d+/300", told, re.MULTILINE) == [
        "training: step 20/300",
        "step  21/300",
        "step  31/300",
    ]


def test_a_run_that_is_continued_says_how_it_ended_before() -> None:
    """It is not cancelled now."""
    history: list[Event] = [ASKED, *BEGUN, *(step(number) for number in range(1, 41))]
    ended = Closed(at_s=99.0, stage=RunStage.CANCELLED, because="stopped")

    assert Terminal().shown([*history, ended]).splitlines() == ["cancelled before, at step 40/300"]


def test_a_terminal_shows_the_panel_and_the_bar_that_is_being_drawn() -> None:
    """The panel tells steps, loss, speed, time left and memory; above it the process draws its own bar."""
    terminal = Terminal(tty=True)
    terminal.now_s = 101
    evaluated = said("evaluate", step=0, metrics={"eval_loss": 8.0})
    steps = [step(number, memory_bytes=914_000_000) for number in range(1, 101)]
    bar = b"\rMap:  50%|#####     | 50/100 [00:01<00:01, 50.0 examples/s]"
    last = said("evaluate", step=100, metrics={"eval_loss": 4.0})
    terminal.shown([ASKED], [*BEGUN, said("start", at_s=0), evaluated, *steps, last], bar)
    shown = ESCAPE.sub("", terminal.file.getvalue())

    assert "Map:  50%|#####     | 50/100" in shown
    for part in (RUN, "100/300 steps", "loss 8 ", "eval_loss 4 from 8", "100 tokens/s", "3 min 19 s left", "914 MB"):
        assert part in shown


def test_the_panel_is_gone_in_the_end() -> None:
    """A terminal that obeys its control sequences is left with the lines above the panel, and its cursor."""
    terminal = Terminal(tty=True)
    shown = terminal.shown([ASKED], [*BEGUN], b"a line\n")

    assert on_terminal(shown) == ["attempt 1 on local", "loading libraries, data and model", "a line"]
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_panel_fits_every_terminal(width: int) -> None:
    """No line is wider than the terminal, whatever the names."""
    terminal = Terminal(tty=True, width=width)
    progress = follow([ASKED, *BEGUN, *(step(number, memory_bytes=10**9) for number in range(1, 50))])
    terminal.console.print(render_panel(progress, "n" * 150, 60, width=min(100, width)))

    assert max(len(line) for line in ESCAPE.sub("", terminal.file.getvalue()).splitlines()) <= width


def test_no_color_is_honoured() -> None:
    """With NO_COLOR a terminal gets the panel, but no colour."""
    shown = Terminal(tty=True, NO_COLOR="1").shown([ASKED], [*BEGUN, step(1), step(2)], b"a line\n")

    assert "2/300 steps" in shown
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", shown)


def test_a_dumb_terminal_gets_plain_lines() -> None:
    """It cannot move its cursor."""
    shown = Terminal(tty=True, TERM="dumb").shown([ASKED], [*BEGUN, step(1)])

    assert "\x1b[2K" not in shown
    assert "step   1/300" in shown


def test_a_terminal_without_unicode_gets_the_panel_too() -> None:
    """Its borders, its bar and the trail of the loss have plain characters, or none."""
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    terminal = Terminal(tty=True, file=file)
    with terminal.view as view:
        view.observe(RunState(), [ASKED])
        view.observe(RunState(), [*BEGUN, step(1), step(2)])

    assert b"2/300 steps" in file.buffer.getvalue()


def test_a_new_attempt_starts_on_a_clean_row() -> None:
    """What the killed attempt drew last is neither lost nor mixed with what the next one writes."""
    again = Starting(at_s=9, attempt=2, backend="local", resume_from="/runs/r/checkpoints/checkpoint-100")
    shown = Terminal().shown([ASKED], b"\rhalf a li", [again], b"ne\n")

    assert shown.splitlines() == ["half a li", "attempt 2 on local, from checkpoint-100", "ne"]


def test_whoever_comes_late_is_shown_what_is_written_from_then_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`watch`, `stop` and `resume` do not repeat an hour of output; `logs` has it."""
    run, state = Run(name=RUN, folder=tmp_path, ledger=Ledger(tmp_path)), fold([ASKED, *BEGUN])
    log = tmp_path / "attempts" / "1" / "stdout.log"
    log.parent.mkdir(parents=True)
    log.write_text("an hour of output\n")
    with RunDisplay(listens=False) as display:
        display.observe(run, state, [ASKED, *BEGUN])
        log.write_text("an hour of output\nand what came then\n")
        display.observe(run, state, [])

    shown = capsys.readouterr().err
    assert "and what came then" in shown
    assert "an hour of output" not in shown


def test_whoever_is_there_from_the_start_is_shown_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process may write before the first look at it."""
    run = Run(name=RUN, folder=tmp_path, ledger=Ledger(tmp_path))
    log = tmp_path / "attempts" / "1" / "stdout.log"
    log.parent.mkdir(parents=True)
    with RunDisplay(listens=False) as display:
        display.observe(run, fold([ASKED]), [ASKED])
        log.write_text("its first words\n")
        display.observe(run, fold([ASKED, *BEGUN]), BEGUN)

    assert "its first words" in capsys.readouterr().err


def test_a_question_stands_below_the_panel_while_the_run_goes_on() -> None:
    """Steps are shown while it stands there; once it is answered it is gone."""
    terminal = Terminal(tty=True)
    with terminal.view as view:
        view.observe(RunState(), [ASKED])
        view.observe(RunState(), [*BEGUN, step(1)])
        view.ask("stop?")
        view.observe(RunState(), [step(2)])
        asked = on_terminal(terminal.file.getvalue())
        view.ask("")
        answered = on_terminal(terminal.file.getvalue())

    assert asked[-1] == "stop?"
    assert [line for line in asked if "2/300 steps" in line]
    assert "stop?" not in answered


def test_a_question_is_a_line_where_there_is_no_panel() -> None:
    """It is said once, however often the run is looked at."""
    terminal = Terminal(tty=True, TERM="dumb")
    with terminal.view as view:
        view.observe(RunState(), [ASKED])
        view.ask("stop?")
        view.observe(RunState(), [*BEGUN, step(1)])
        view.ask("")

    assert terminal.file.getvalue().count("stop?") == 1


def test_an_interrupted_view_leaves_no_panel_behind() -> None:
    """Ctrl-C in the middle puts the terminal in order too."""
    terminal = Terminal(tty=True)
    with suppress(KeyboardInterrupt), terminal.view as view:
        view.observe(RunState(), [ASKED, *BEGUN])
        raise KeyboardInterrupt

    assert on_terminal(terminal.file.getvalue()) == []


def test_evaluation_says_that_it_began_where_every_line_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """In the log of a CI job, an evaluation of minutes was silent; a line each second would drown the rest."""
    with RunDisplay(listens=False) as display:
        for row in range(200):
            display.on_evaluation_progress(f"{row} of 200 rows")

    assert capsys.readouterr().err == "evaluation: 0 of 200 rows\n"
