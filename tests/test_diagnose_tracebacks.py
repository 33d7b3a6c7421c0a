"""Tracebacks as logs have them."""

from dataclasses import replace

import pytest

from holdfast.core.log import Frame, Log
from holdfast.engine.diagnose.reading import Sought, read_log

PLAIN = """Traceback (most recent call last):
  File "/home/u/train.py", line 12, in <module>
    trainer.train()
    ^^^^^^^^^^^^^^^
  File "/x/site-packages/transformers/trainer.py", line 1576, in train
    return inner_training_loop(
ValueError: no good
second line of it

after
"""
CAUSED = """Traceback (most recent call last):
  File "a.py", line 1, in read
    raise KeyError("x")
KeyError: 'x'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 2, in load
    raise ValueError("y") from error
ValueError: y

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "c.py", line 3, in main
    load()
RuntimeError: z
"""
RICH = """╭───────────── Traceback (most recent call last) ─────────────╮
│ /home/u/train.py:12 in main                                 │
│                                                             │
│    11                                                       │
│ ❱  12 │   trainer = SFTTrainer(tokenizer=tokenizer)         │
│                                                             │
╰─────────────────────────────────────────────────────────────╯
TypeError: SFTTrainer.__init__() got an unexpected keyword
argument 'tokenizer'
"""
JUPYTER = """---------------------------------------------------------------------------
OutOfMemoryError                          Traceback (most recent call last)
Cell In[3], line 5
      4 trainer = f()
----> 5 trainer.train()

File /usr/local/lib/python3.11/dist-packages/transformers/trainer.py:2240, in Trainer.train(self, args)
   2239     x = 1
-> 2240     return inner_training_loop()

OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""


def read(text: str) -> Log:
    return read_log([("x", [text.encode()])], Sought())


def test_frames_code_and_the_whole_message_are_read() -> None:
    (found,) = read(PLAIN).tracebacks
    assert found.frames[0] == Frame("/home/u/train.py", 12, "<module>", "trainer.train()")
    assert found.frames[1].is_library
    assert [line.text for line in found.error] == ["ValueError: no good", "second line of it"]
    assert [line.number for line in found.error] == [7, 8]


def test_a_chain_is_one_with_how_its_parts_hang_together() -> None:
    (found,) = read(CAUSED).tracebacks
    assert found.error[0].text == "RuntimeError: z"
    assert [(part.error[0].text, link) for part, link in found.earlier] == [
        ("KeyError: 'x'", "cause"),
        ("ValueError: y", "context"),
    ]


def test_a_box_of_rich_is_a_traceback_and_its_message_may_wrap() -> None:
    (found,) = read(RICH).tracebacks
    assert found.frames == (Frame("/home/u/train.py", 12, "main", "trainer = SFTTrainer(tokenizer=tokenizer)"),)
    assert [line.text for line in found.error] == [
        "TypeError: SFTTrainer.__init__() got an unexpected keyword",
        "argument 'tokenizer'",
    ]


def test_a_wrapped_message_is_found_by_words_that_stand_on_both_lines() -> None:
    log = read_log([("x", [RICH.encode()])], Sought(("keyword argument 'tokenizer'",)))
    (hit,) = (hit for hit in log.hits if hit.words)
    assert hit.line.text.endswith("unexpected keyword argument 'tokenizer'")
    assert hit.line.number == 8


def test_what_a_notebook_writes_is_a_traceback() -> None:
    (found,) = read(JUPYTER).tracebacks
    assert [(frame.file, frame.line) for frame in found.frames] == [
        ("In[3]", 5),
        ("/usr/local/lib/python3.11/dist-packages/transformers/trainer.py", 2240),
    ]
    assert found.error[0].text.startswith("OutOfMemoryError: CUDA")


def test_frames_of_windows_are_frames() -> None:
    """A library's code is a library's, whichever way its path is written."""
    windows = PLAIN.replace("/home/u/train.py", r"C:\\Users\\u\\train.py").replace("/", "\\")
    (found,) = read(windows).tracebacks
    assert [frame.is_library for frame in found.frames] == [False, True]
    assert "site-packages/" in str(found.frames[1])


def test_ranks_that_write_at_the_same_time_have_each_its_own() -> None:
    lines = [f"[rank{rank}]: {line}" for line in PLAIN.splitlines()[:7] for rank in (0, 1, 2)]
    log = read("\n".join(lines) + "\n")
    (found,) = log.tracebacks
    assert found.count == 3
    assert len(found.frames) == 2
    assert log.ranks == {0, 1, 2}


def test_workers_of_one_name_are_told_apart_by_their_process() -> None:
    lines = [f"(RayTrainWorker pid={pid}) {line}" for line in PLAIN.splitlines()[:7] for pid in (40, 41)]
    (found,) = read("\n".join(lines) + "\n").tracebacks
    assert found.count == 2
    assert len(found.frames) == 2


def test_one_glued_to_a_bar_begins_behind_it() -> None:
    (found,) = read(f"\r 25%|██▌       | 5/20 [00:00<00:00, 23.97it/s]{PLAIN}").tracebacks
    assert len(found.frames) == 2
    assert found.error[0].text == "ValueError: no good"


def test_one_without_its_end_says_that_the_log_was_cut() -> None:
    log = read("\n".join(PLAIN.splitlines()[:4]))
    assert log.cut == ("end",)
    assert log.tracebacks[0].error == ()


def test_one_without_its_beginning_still_has_its_frames() -> None:
    log = read("\n".join(PLAIN.splitlines()[2:8]) + "\n")
    assert log.cut == ("beginning",)
    (hit,) = log.hits
    assert hit.traceback is not None
    assert [frame.line for frame in hit.traceback.frames] == [1576]


def test_a_line_of_a_message_has_the_frames_above_it_in_a_log_that_was_cut() -> None:
    cut = """  File "/x/site-packages/transformers/modeling_utils.py", line 4971, in _load
    raise RuntimeError(message)
RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:
\tsize mismatch for a.weight: copying a param with shape torch.Size([2]) from checkpoint.
\tsize mismatch for b.weight: copying a param with shape torch.Size([3]) from checkpoint.
"""
    log = read_log([("x", [cut.encode()])], Sought(("size mismatch for b",)))
    (hit,) = (hit for hit in log.hits if hit.words)
    assert hit.traceback is not None
    assert [frame.function for frame in hit.traceback.frames] == ["_load"]
    assert [line.number for line in hit.traceback.error] == [3, 4, 5]


def test_a_line_below_a_blank_one_is_no_part_of_a_message() -> None:
    text = '  File "a.py", line 3, in f\n    x()\nRuntimeError: x\n\nsomething else\n'
    log = read_log([("x", [text.encode()])], Sought(("something else",)))
    assert [hit.traceback is None for hit in log.hits] == [False, True]


@pytest.mark.parametrize("at", [2, 3])
def test_what_another_rank_wrote_into_a_cut_traceback_is_passed_over(at: int) -> None:
    lines = [*PLAIN.splitlines()[2:7]]
    lines.insert(at, "/x/site-packages/torch/y.py:9: UserWarning: odd")
    (hit,) = read("\n".join(lines) + "\n").hits
    assert hit.traceback is not None
    assert [frame.line for frame in hit.traceback.frames] == [1576]


def test_frames_before_another_exception_are_not_taken() -> None:
    (first, second) = read("\n".join([*PLAIN.splitlines()[4:7], "KeyError: 'x'"]) + "\n").hits
    assert first.traceback is not None
    assert second.traceback is None


COLAB = """---------------------------------------------------------------------------
ValueError                                Traceback (most recent call last)
[<ipython-input-5-8e1f>](https://localhost:8080/#) in <cell line: 7>()
      6
----> 7 trainer.train()

1 frames
[/usr/local/lib/python3.11/dist-packages/transformers/trainer.py](https://localhost:8080/#) in train(self, **kwargs)
   2239         x = 1
-> 2240         return inner_training_loop(

ValueError: no good
"""


@pytest.mark.parametrize("skipped", [0, 2], ids=["whole", "cut above"])
def test_frames_of_colab_are_links(skipped: int) -> None:
    log = read("\n".join(COLAB.splitlines()[skipped:]) + "\n")
    found = log.hits[0].traceback
    assert found is not None
    inner = Frame(
        "/usr/local/lib/python3.11/dist-packages/transformers/trainer.py", 2240, "train", "return inner_training_loop("
    )
    assert found.frames[-1] == inner
    if not skipped:
        assert found.frames[0] == Frame("<ipython-input-5-8e1f>", 7, "<cell line: 7>", "trainer.train()")


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        (
            "File [~/env/lib/x.py:18](http://localhost:8888/~/x.py#line=17), in Trainer.train(self, a)",
            Frame("~/env/lib/x.py", 18, "Trainer.train"),
        ),
        ("Input In [5], in <cell line: 3>()", Frame("In [5]", 3, "<cell line: 3>")),
        ("/home/u/ipykernel_17/12.py in <module>", Frame("/home/u/ipykernel_17/12.py", 3, "<module>")),
        ("Cell In[8], line 4, in f(x)", Frame("In[8]", 4, "f")),
    ],
)
def test_every_way_in_which_notebooks_write_frames_is_read(line: str, frame: Frame) -> None:
    text = f"KeyError                         Traceback (most recent call last)\n{line}\n----> 3 f(x)\n\nKeyError: 1\n"
    (found,) = read(text).tracebacks
    assert [replace(each, code="") for each in found.frames] == [frame]
    assert found.frames[0].code == "f(x)"


@pytest.mark.parametrize("indent", ["", "      "], ids=["at the margin", "indented"])
def test_what_a_child_process_wrote_may_be_indented(indent: str) -> None:
    (found,) = read("".join(f"{indent}{line}\n" for line in PLAIN.splitlines())).tracebacks
    assert found.error[0].text.strip() == "ValueError: no good"


def test_an_exception_that_python_ignored_is_none() -> None:
    log = read(f"Exception ignored in: <function ResourceTracker.__del__ at 0x7f>\n{PLAIN}")
    assert log.tracebacks == ()
    assert log.hits == ()


def test_a_prefix_that_nobody_knows_is_taken_off_if_every_line_has_it() -> None:
    text = "".join(f"LOG {line}\n" for line in CAUSED.splitlines())
    (found,) = read(text).tracebacks
    assert found.error[0].text == "RuntimeError: z"
    assert [part.frames[0].file for part, _ in found.earlier] == ["a.py", "b.py"]
