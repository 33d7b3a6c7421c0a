"""When a line is a sign of a class."""

import pytest

from holdfast.core.diagnose.diagnosis import Pattern, Remedy
from holdfast.engine.diagnose.values import convert, fill, holds
from holdfast.signatures import read_signature
from tests.helpers.diagnose_signatures import found, signature

USER, LIBRARY = ('File "/home/u/train.py", line 3, in main', 'File "/x/site-packages/trl/a.py", line 3, in f')
TEXT = "a line before\nTraceback (most recent call last):\n  {frame}\n    call(prompt)\nKeyError: 'prompt'\n"


def is_found(text: str, mark: Pattern) -> bool:
    return bool(found(text, signature("x", mark)).causes)


@pytest.mark.parametrize(
    ("mark", "user", "library"),
    [
        (Pattern(line=r"^KeyError: 'prompt'$"), True, True),
        (Pattern(line="KeyError: 'prompt'", frame=r"site-packages/trl/"), False, True),
        (Pattern(line="KeyError: 'prompt'", not_frame=r"site-packages/"), True, False),
        (Pattern(line="KeyError: 'prompt'", near=r"call\(prompt\)"), True, True),
        (Pattern(line="KeyError: 'prompt'", near="a line before"), True, True),
        (Pattern(line="KeyError: 'prompt'", near="nothing of the kind"), False, False),
        (Pattern(line="KeyError: 'prompt'", not_near="a line before"), False, False),
        (Pattern(line=r"call\(prompt\)", last=True), False, False),
        (Pattern(line="KeyError: 'prompt'", last=True), True, True),
        (Pattern(line="KeyError: 'prompt'", frame=r"line (?P<at>\d+)", when="at == 3"), True, True),
        (Pattern(line="KeyError: 'prompt'", frame=r"line (?P<at>\d+)", when="at > 3"), False, False),
    ],
)
def test_a_mark_asks_for_what_stands_around_it(mark: Pattern, user: bool, library: bool) -> None:
    assert is_found(TEXT.format(frame=USER), mark) == user
    assert is_found(TEXT.format(frame=LIBRARY), mark) == library


def test_the_frame_that_raised_is_asked_for_by_itself() -> None:
    text = f"Traceback (most recent call last):\n  {USER}\n    train()\n  {LIBRARY}\n    raise\nKeyError: 'prompt'\n"
    patterns = [
        Pattern(line="KeyError: 'prompt'", raised_in=where)
        for where in ("site-packages/trl/", "train.py", r"line (?P<at>\d)")
    ]
    assert [is_found(text, pattern) for pattern in patterns] == [True, False, True]
    assert is_found(text, Pattern(line="KeyError: 'prompt'", frame="train.py"))
    assert not is_found("KeyError: 'prompt'\n", patterns[0])


@pytest.mark.parametrize(
    ("before", "is_near"),
    [
        ("Saving model checkpoint to out/checkpoint-3\n", True),
        ("[rank1]: Saving model checkpoint to out/checkpoint-3\n", True),
        ("[rank0]: Saving model checkpoint to out/checkpoint-3\n", False),
        ("Saving model checkpoint to out/checkpoint-3\n" + "another line\n" * 4, False),
        ("Saving model checkpoint to out/checkpoint-3\n" + "[rank1]: another line\n" * 4, False),
    ],
)
def test_a_line_that_nobody_signed_is_near_one_of_a_rank(before: str, is_near: bool) -> None:
    mark = Pattern(line="Watchdog caught", near="Saving model checkpoint")
    assert is_found(f"{before}[rank1]: Watchdog caught a timeout\n", mark) == is_near


@pytest.mark.parametrize("prefix", ["", "[rank1]: "])
def test_what_stands_right_before_a_traceback_is_near_its_exception(prefix: str) -> None:
    frames = "".join(f"{prefix}  {LIBRARY}\n{prefix}    call()\n" for _ in range(20))
    text = f"Saving model checkpoint to out\n{prefix}Traceback (most recent call last):\n{frames}{prefix}KeyError: 'prompt'\n"
    assert is_found(text, Pattern(line="KeyError: 'prompt'", near="Saving model checkpoint"))
    against = Pattern(line="KeyError: 'prompt'", not_near="Saving model checkpoint")
    assert is_found(text, against) == bool(prefix), "what another rank may have said speaks against nothing"


def test_the_bar_that_a_line_is_glued_to_is_near_it() -> None:
    text = "Tokenizing: 46%|████▋     | 31/67 [29:02<35:12, 58.67s/it]slurmstepd: error: CANCELLED AT noon\n"
    assert is_found(text, Pattern(line="CANCELLED AT", near=r"\[29:\d\d<"))
    assert not is_found(text, Pattern(line="CANCELLED AT", near=r"\[30:\d\d<"))


def test_a_bar_is_beside_a_line_though_another_rank_wrote_between() -> None:
    bar = "[rank1]: Resolving data files: 100%|███| 136/136 [00:00<00:00, 29.88it/s]\n"
    mark = Pattern(line="No space left", near="Resolving")
    assert is_found("[rank1]: No space left\n[rank0]: of somebody\n" + bar, mark)
    assert not is_found("[rank1]: No space left\n[rank1]:\n" + bar, mark)


@pytest.mark.parametrize(
    ("line", "cause", "keys"),
    [
        ("SFTConfig.__init__() got an argument 'max_seq_length'", "It is `max_length` now.", ["train.max_seq_length"]),
        (
            "SFTConfig.__init__() got an argument 'evaluation_strategy'",
            "It is `eval_strategy` now.",
            ["train.evaluation_strategy"],
        ),
        ("SFTTrainer.__init__() got an argument 'tokenizer'", "It is `processing_class` now.", []),
        ("SFTConfig.__init__() got an argument 'group_by_length'", "It is `train_sampling_strategy` now.", []),
        (
            "__init__() got an argument 'evaluation_strategy'",
            "It is `eval_strategy` now.",
            ["train.evaluation_strategy"],
        ),
        ("SFTConfig.__init__() got an argument 'no_such_thing'", "", []),
    ],
)
def test_what_an_argument_is_called_now_is_told_and_renamed_where_it_means_the_same(
    line: str, cause: str, keys: list[str]
) -> None:
    told = signature(
        "told",
        Pattern(line=r"(?:(?P<owner>\w+)\.)?__init__\(\) got an argument '(?P<old>\w+)'"),
        cause="It is `{new}` now.",
        remedy=(Remedy(key="train.{old}", action="rename", value="{same}"),),
    )
    (told_cause,) = found(f"TypeError: {line}\n", told).causes
    assert told_cause.cause == cause
    assert [each.key for each in told_cause.remedy] == keys


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.00 GiB", 2 * 2**30),
        ("921.10 MiB", 921.10 * 2**20),
        ("16G", 16 * 2**30),
        ("5 GB", 5e9),
        ("1800000 ms", 1800.0),
        ("10 minutes", 600.0),
        ("2-01:00:00", 176400),
        ("1,024", 1024),
        ("0.5", 0.5),
        ("2e-05", 2e-05),
        ("cuda:0", "cuda:0"),
        ("12 apples", "12 apples"),
        (None, None),
    ],
)
def test_values_are_compared_as_what_they_amount_to(text: str | None, value: object) -> None:
    assert convert(text) == value


def test_a_condition_that_cannot_be_told_does_not_hold() -> None:
    assert holds("a % b == 1 and c is None", {"a": "7", "b": "2", "c": None})
    assert not holds("a < b", {"a": "7", "b": None})
    assert not holds("a < missing", {"a": "7"})
    assert not holds("__import__('os')", {})


def test_a_sentence_without_its_value_is_left_out_and_other_braces_stay() -> None:
    text = 'Set {"use_reentrant": False}. There are {count} rows. `{name}` is one of them.\nSecond line of {nothing}.'
    assert fill(text, {"name": "x", "count": None}) == 'Set {"use_reentrant": False}. `x` is one of them.'


def test_how_far_training_got_is_known_to_conditions_and_to_words() -> None:
    late = signature(
        "late", Pattern(line="CUDA out of memory", when="step > 30"), cause="It was step {step} of {steps}."
    )
    bar = "[rank0]:  {}%|██        | {}/1320 [1:10:22<2:31:09,  9.99s/it]\n"
    text = (
        "Loading weights: 100%|███| 1500/1500 [00:04<00:00, 78.26it/s]\n" + bar + "RuntimeError: CUDA out of memory\n"
    )
    assert found(text.format(31, 412), late).causes[0].cause == "It was step 412 of 1320."
    assert found(text.format(0, 0), late).causes == ()


def test_which_ranks_waited_for_what_is_known_to_conditions() -> None:
    absent = signature(
        "absent",
        Pattern(line="Watchdog caught collective operation timeout", when="waiting_ranks == 2 and rank_0_waits == 0"),
    )
    differs = signature(
        "differs",
        Pattern(line="Watchdog caught collective operation timeout", when="waiting_kinds > 1 or waiting_lag > 0"),
    )
    line = "[rank{0}]:[E1122 06:40:00.50 x.cpp:616] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={1}, OpType={2}, x)\n"
    names = [
        [cause.signature.name for cause in found("".join(line.format(*each) for each in ranks), absent, differs).causes]
        for ranks in ([(1, 7, "A"), (2, 7, "A")], [(0, 7, "A"), (1, 7, "B")], [(0, 7, "A"), (1, 7, "A")])
    ]
    assert names == [["absent"], ["differs"], []]


@pytest.mark.parametrize(
    ("before", "mark", "expected"),
    [
        ("Assertion `x` failed\n", Pattern(line="CUBLAS_STATUS", log=r"Assertion .+ failed"), True),
        ("", Pattern(line="CUBLAS_STATUS", log=r"Assertion .+ failed"), False),
        ("Assertion `x` failed\n", Pattern(line="CUBLAS_STATUS", not_log=r"Assertion .+ failed"), False),
        ("Assertion `x` held\n", Pattern(line="CUBLAS_STATUS", not_log=r"Assertion .+ failed"), True),
    ],
)
def test_a_mark_asks_for_what_stands_anywhere_in_the_log(before: str, mark: Pattern, expected: bool) -> None:
    text = before + "an ordinary line\n" * 5000 + "CUBLAS_STATUS_NOT_INITIALIZED\n"
    assert is_found(text, mark) == expected


@pytest.mark.parametrize("prefix", ["", "ERROR:__main__:", "[ERROR] ", "> ", "    "])
def test_a_line_begins_behind_a_loggers_level(prefix: str) -> None:
    assert is_found(f"{prefix}KeyError: 'prompt'\n", Pattern(line="^KeyError: 'prompt'$"))


@pytest.mark.parametrize("field", ["line", "log", "not_log"])
def test_a_file_whose_mark_has_no_word_to_look_for_is_refused(field: str) -> None:
    other = "line = 'a whole word'\n" if field != "line" else ""
    text = f"[[patterns]]\n{other}{field} = '(?i)error|bad'\n"
    with pytest.raises(ValueError, match=r"odd.toml: a pattern cannot be searched for: no run of 5 characters"):
        read_signature("odd", text)


def test_quotes_that_a_forum_made_of_plain_ones_are_no_others() -> None:
    assert is_found("KeyError: \u2018prompt\u2019\n", Pattern(line=r"KeyError: '(?P<name>\w+)'"))
