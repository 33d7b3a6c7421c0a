"""A line that no signature knows: what it may be about is told as a guess, and nothing is called the cause for it."""

import pytest

from holdfast.core.diagnose.diagnosis import Pattern
from holdfast.engine.diagnose.guessing import MOST
from tests.helpers.diagnose_signatures import found, signature

QUOTA = signature(
    "quota",
    Pattern(line=r"Disk quota exceeded"),
    seen=("OSError: [Errno 122] Disk quota exceeded", "lfs: quota of the volume is used up, write failed"),
)
TOKEN = signature(
    "token",
    Pattern(line=r"Invalid user token"),
    seen=("HTTPError: Invalid user token.", "error: the token has expired, log in again"),
)
LIMIT = signature(
    "limit",
    Pattern(line=r"DUE TO TIME LIMIT"),
    seen=("error: CANCELLED DUE TO TIME LIMIT", "error: job killed, time is used up"),
)
FOLLOWS = signature(
    "cause-not-in-log",
    Pattern(line=r"worker process has gone", role="echo"),
    seen=("error: some worker process has gone, see its log",),
)
EVERY = (QUOTA, TOKEN, LIMIT, FOLLOWS)
LOST = "fatal: volume quota used up, cannot write any more"
ENDED = "{'train_runtime': '8.4', 'train_loss': '1.0'}"


def test_the_line_and_the_class_that_it_is_most_like_are_told() -> None:
    answer = found(f"loading shard 3\n{LOST}\n", *EVERY)

    assert answer.verdict == "unknown"
    assert answer.missing
    best = answer.causes[0]
    assert (best.signature.name, [each.line for each in best.evidence]) == ("quota", [2])
    assert best.cause.startswith("A guess")


def test_a_guess_is_never_as_sure_as_a_cause() -> None:
    """However much of it was seen before."""
    answer = found("lfs: error: quota of the volume is used up, write failed\n", *EVERY)
    assert 0 < answer.causes[0].confidence <= MOST


def test_what_two_classes_are_alike_to_tells_both_and_is_less_sure() -> None:
    of_both = found("error: quota of the volume is used up, or the job killed, time is used up\n", *EVERY)
    of_one = found(LOST, *EVERY)

    assert {each.signature.name for each in of_both.causes} == {"quota", "limit"}
    assert of_both.causes[0].confidence < of_one.causes[0].confidence


@pytest.mark.parametrize(
    "text",
    [
        "loading shard 3\n",
        "quota of the volume: 3 of 10 TB\n",
        "error: a worker process has gone away, see its log\n",
        f"site-packages/x.py:3: UserWarning: {LOST}\n",
        f"{LOST}\n{ENDED}\n",
        "error: zzz qqq\n",
        "",
    ],
    ids=["nothing", "no failure", "an echo", "a warning", "outlived", "words that nobody has seen", "empty"],
)
def test_what_tells_of_no_failure_is_not_guessed_at(text: str) -> None:
    assert not found(text, *EVERY).causes


def test_of_what_a_signature_knows_nothing_is_guessed() -> None:
    answer = found(f"{LOST}\nHTTPError: Invalid user token.\n", *EVERY)
    assert [each.signature.name for each in answer.causes] == ["token"]


def test_the_whole_message_of_an_exception_is_read() -> None:
    """Though its first line says nothing."""
    text = """Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/lfs/volume.py", line 3, in write
    raise LimitError(code)
lfs.LimitError: 7
  quota of the volume is used up
"""
    assert found(text, *EVERY).causes[0].signature.name == "quota"
