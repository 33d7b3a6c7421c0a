"""What a training process writes looks on screen as it would on its own terminal, without noise and without loss."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.engine.run.noise import NOISE, Noise, match_noise
from holdfast.engine.run.screen import TerminalStream, lines_of

BAR = "Map: {done:>3}%|#####     | {done}/100 [00:01<00:01, 50.0 examples/s]"
# What tqdm and torchrun wrote in a real run of two processes, shortened: the training's bar, an evaluation's bar
# inside it, and the bar of a save.
NESTED = (
    "W1121 19:03:38.591000 8128 torch/distributed/run.py:874] \n"
    "W1121 19:03:38.591000 8128 torch/distributed/run.py:874] *****************************************\n"
    "\rLoading weights:   0%|          | 0/62 [00:00<?, ?it/s]"
    "\rLoading weights: 100%|██████████| 62/62 [00:01<00:00, 16055.25it/s]\n"
    "\r 83%|████████  | 5/6 [00:01<00:00,  3.72it/s]\r100%|██████████| 6/6 [00:01<00:00,  3.84it/s]\n"
    "\r  0%|          | 0/5 [00:00<?, ?it/s]\x1b[A\n"
    "\r100%|██████████| 5/5 [00:00<00:00,  5.76it/s]\x1b[A\r                    \r\n"
    "\r                    \r\x1b[A\r100%|██████████| 6/6 [00:02<00:00,  3.84it/s]\n"
    "\r                    \x1b[A\n"
    "\rWriting model shards:   0%|          | 0/1 [00:00<?, ?it/s]\x1b[A"
    "\rWriting model shards: 100%|██████████| 2/2 [00:01<00:00, 67.11it/s]\n"
    "done\n"
).encode()


def show(*chunks: bytes) -> list[str]:
    stream = TerminalStream()
    return [line for chunk in chunks for line in stream.feed(chunk)] + stream.close()


def test_a_bar_is_one_line_in_its_last_state() -> None:
    """However often it was drawn, one line is left of it."""
    drawn = "".join("\r" + BAR.format(done=done) for done in range(101)) + "\nnext\n"

    assert show(drawn.encode()) == [BAR.format(done=100), "next"]


def test_the_bar_that_is_being_drawn_is_a_row_that_may_change() -> None:
    """It is no finished line, and the newest drawing is the whole of it."""
    stream = TerminalStream()

    assert stream.feed(f"\r{BAR.format(done=1)}\r{BAR.format(done=2)}".encode()) == []
    assert stream.rows == [BAR.format(done=2)]


def test_a_log_that_is_piped_reads_as_lines() -> None:
    """Of a bar its last state stays; what is noise on a terminal is kept."""
    bar = "\r".join(f"{done:>3}%|{'#' * (done // 10):10}| {done}/100" for done in range(0, 101, 10))
    noise = "FutureWarning: something will change"
    told = lines_of(f"{bar}\n{noise}\r\n{{'loss': 1.5}}\nwithout an end")

    assert told.splitlines() == ["100%|##########| 100/100", noise, "{'loss': 1.5}", "without an end"]


def test_a_bar_inside_a_bar_leaves_nothing_behind() -> None:
    """An evaluation's bar goes down a row and up again; its drawings do not pile up."""
    assert show(NESTED) == [
        "Loading weights: 100%|██████████| 62/62 [00:01<00:00, 16055.25it/s]",
        "Writing model shards: 100%|██████████| 2/2 [00:01<00:00, 67.11it/s]",
        "done",
    ]


def test_finished_bars_can_be_had_before_the_next_line() -> None:
    """They need not wait for a line that may never come; a bar that still grows stays."""
    ended, growing = "Map: 100%|###| 9/9 [00:01<00:00, 9.0 ex/s]", "Pack:  50%|#  | 1/2 [00:01<00:01, 1.0 ex/s]"
    stream = TerminalStream()
    assert stream.feed(f"{ended}\n{growing}".encode()) == []

    assert stream.release() == [ended]
    assert stream.release() == []
    assert stream.rows == [growing]
    assert stream.feed(growing.replace("1/2", "2/2").join(["\r", "\ndone\n"]).encode())[-1] == "done"


@given(st.lists(st.integers(0, len(NESTED)), max_size=20))
@example([*range(len(NESTED))])
def test_chunks_may_end_anywhere(cuts: list[int]) -> None:
    """In the middle of a line, of an escape sequence or of a character: the lines are the same."""
    places = [0, *sorted(cuts), len(NESTED)]
    chunks = [NESTED[start:end] for start, end in pairwise(places)]

    assert show(*chunks) == show(NESTED)


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)))
def test_plain_lines_come_through_whole_and_in_order(lines: list[str]) -> None:
    """Nothing but noise is taken away."""
    text = "".join(f"> {line}\n" for line in lines)

    assert show(text.encode()) == [f"> {line}" for line in lines]


def test_a_traceback_behind_a_bar_comes_through() -> None:
    """It starts in the middle of the bar's row; the unfinished bar goes, the error stays."""
    wrote = (
        b"\r 25%|##        | 5/20 [00:00<00:00, 23.97it/s]Traceback (most recent call last):\n  File x\nKeyError: 'a'\n"
    )

    assert show(wrote) == ["Traceback (most recent call last):", "  File x", "KeyError: 'a'"]


def test_a_line_behind_a_bar_is_a_row_without_it() -> None:
    """What a script prints behind the trainer's bar is no part of it, before its line ends too."""
    stream = TerminalStream()

    assert stream.feed(b"\r 31%|###       | 4/13 [07:25<08:13, 54.87s/it]12:00:00 sample at step 4") == []
    assert stream.rows == ["12:00:00 sample at step 4"]


def test_a_warnings_line_of_source_goes_with_it() -> None:
    """Python prints the line that warned, indented; without its warning it would puzzle."""
    noisy = next(noise for noise in NOISE if noise.echoes)

    assert show(f"{noisy.seen}\n  super().__init__(loader)\nnext\n".encode()) == ["next"]
    assert show(b"a warning\n  super().__init__(loader)\n") == ["a warning", "  super().__init__(loader)"]


@pytest.mark.parametrize("noise", NOISE, ids=lambda noise: noise.because)
def test_each_kind_of_noise_matches_the_line_it_was_made_for(noise: Noise) -> None:
    """The first pattern that matches is its own."""
    assert match_noise(noise.seen) is noise


@pytest.mark.parametrize(
    "line",
    [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "[rank1]: RuntimeError: injected",
        "W1120 15:52:41.861000 26735 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 2 SIGTERM",
        "[transformers] There were missing keys in the checkpoint model loaded: ['model.norm.weight'].",
        "[transformers] torch.distributed process group is initialized, but parallel_mode != ParallelMode.DISTRIBUTED.",
        "UserWarning: loss is nan",
        "{'loss': 'step'",
        '  File "train.py", line 3, in warnings.warn',
        f"{NOISE[4].seen} ValueError: no",
        "Tokenizing train dataset: 100%|██████████| 200/200 [00:07<00:00, 28.57 examples/s]",
        "Tokenizing train dataset:  99%|█████████▉| 198/200 [00:00<00:00, 28.57 examples/s]",
        "Pushing 1 file: 100%",
    ],
)
def test_what_people_must_see_is_no_noise(line: str) -> None:
    """Errors, warnings that tell something, and what merely resembles noise."""
    assert match_noise(line) is None


def test_a_bar_that_was_wiped_out_leaves_no_gap() -> None:
    """It is overwritten with blanks; a line that the process left empty on purpose stays empty."""
    bar = b"\r 50%|##  | 1/2 [00:01<00:01, 1.0 it/s]"

    assert show(bar + b"\r                                  \nnext\n\nlast\n") == ["next", "", "last"]


def test_colours_stay_and_other_control_sequences_go() -> None:
    """A process cannot move the cursor, ring the bell or rename the window through holdfast."""
    assert show(b"\x1b[31mred\x1b[0m \x1b[2J\x07\x1b]0;owned\x07 end\n") == ["\x1b[31mred\x1b[0m ]0;owned end"]


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    """A crash may leave anything behind."""
    assert show(b"ok \xff\xfe\n") == ["ok \ufffd\ufffd"]


def test_the_last_line_needs_no_newline() -> None:
    """What a killed process said last is not lost."""
    assert show(b"Killed") == ["Killed"]
