"""Tracebacks as logs have them."""

from dataclasses import replace

import pytest

from holdfast.core.diagnose.log import Frame, Log
from holdfast.engine.diagnose.kept_lines import LogQuery
from holdfast.engine.diagnose.reading import read_log

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
    return read_log([("x", [text.encode()])], LogQuery())


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


def test_a_frame_that_the_box_was_too_narrow_for_is_one() -> None:
    wide, narrow = (
        "/home/u/train.py:12 in main",
        "/home/u/train.py:1                                       │\n│ 2 in main",
    )
    assert wide in RICH
    assert [each.function for each in read(RICH.replace(wide, narrow)).tracebacks[0].frames] == ["main"]


def test_a_wrapped_message_is_found_by_words_that_stand_on_both_lines() -> None:
    log = read_log([("x", [RICH.encode()])], LogQuery(("keyword argument 'tokenizer'",)))
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
    log = read_log([("x", [cut.encode()])], LogQuery(("size mismatch for b",)))
    (hit,) = (hit for hit in log.hits if hit.words)
    assert hit.traceback is not None
    assert [frame.function for frame in hit.traceback.frames] == ["_load"]
    assert [line.number for line in hit.traceback.error] == [3, 4, 5]


def test_a_line_below_a_blank_one_is_no_part_of_a_message() -> None:
    text = '  File "a.py", line 3, in f\n    x()\nRuntimeError: x\n\nsomething else\n'
    log = read_log([("x", [text.encode()])], LogQuery(("something else",)))
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


def test_frames_of_notebooks_may_lack_a_function() -> None:
    text = "KeyError                         Traceback (most recent call last)\nFile ~/x.py:154\n--> 154 f(x)\n\nKeyError: 1\n"
    (found,) = read(text).tracebacks
    assert found.frames == (Frame("~/x.py", 154, "<module>", "f(x)"),)


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/home/u/train.py", line 9, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/u/data.py", line 4, in load
    |     raise ValueError("no rows")
    | ValueError: no rows
    +------------------------------------
"""


def test_the_exceptions_of_a_group_are_read_each_by_itself() -> None:
    found = read(GROUP).tracebacks
    assert [(each.error[0].text.split(":")[0], each.frames[-1].line) for each in found] == [
        ("ExceptionGroup", 9),
        ("ValueError", 4),
    ]
    assert found[1].frames[0].code == 'raise ValueError("no rows")'


TABLE = """[0]:
  time      : 2026-11-20_15:52:41
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 26742)
  error_file: /tmp/torchelastic_x/none_y/attempt_0/0/error.json
  traceback : Traceback (most recent call last):
    File "/opt/venv/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 346, in wrapper
      return f(*args, **kwargs)
    File "/home/u/train.py", line 40, in main
      trainer.train()
  RuntimeError: no good

============================================================
"""


def test_the_traceback_in_a_table_of_torchelastic_has_its_exception() -> None:
    (found,) = read(TABLE).tracebacks
    assert [frame.line for frame in found.frames] == [346, 40]
    assert [(line.number, line.text) for line in found.error] == [(11, "RuntimeError: no good")]


RAY = """Traceback (most recent call last):
  File "/home/u/driver.py", line 10, in <module>
    ray.get(worker.train.remote())
ray.exceptions.RayTaskError(ValueError): ray::Worker.train() (pid=7, ip=10.0.0.3, actor_id=ab, repr=<x>)
  File "/home/u/worker.py", line 3, in train
    raise ValueError("no rows")
ValueError: no rows
"""


def test_what_a_worker_of_ray_raised_is_the_exception_and_not_what_the_driver_says_of_it() -> None:
    (found,) = read(RAY).tracebacks
    assert [(frame.file, frame.line) for frame in found.frames] == [("/home/u/worker.py", 3)]
    assert [line.text for line in found.error] == ["ValueError: no rows"]


def test_the_short_form_of_pytest_has_frames() -> None:
    text = (
        "train.py:12: in <module>\n    main()\nlib/data.py:40: in load\n    raise ValueError('x')\nE   ValueError: x\n"
    )
    (hit,) = read(text).hits
    assert hit.traceback is not None
    assert [(frame.file, frame.line, frame.function) for frame in hit.traceback.frames] == [
        ("train.py", 12, "<module>"),
        ("lib/data.py", 40, "load"),
    ]


def test_what_stands_before_a_traceback_without_its_beginning_is_told() -> None:
    text = 'Saving model checkpoint to out\nRANK=3\n  File "a.py", line 3, in f\n    x()\nRuntimeError: x\n'
    (hit,) = read(text).hits
    assert hit.traceback is not None
    assert [line.text for line in hit.traceback.before] == ["Saving model checkpoint to out", "RANK=3"]


@pytest.mark.parametrize("joint", ["\n", "\n    "], ids=["at the margin", "indented"])
def test_a_message_that_was_broken_between_words_is_found_without_a_traceback(joint: str) -> None:
    text = f"ValueError: the tokenizer that was given has no chat template, and the rows{joint}have messages which need one: give it a template"
    log = read_log([("x", [text.encode()])], LogQuery(("the rows have messages",)))
    assert [hit.line.number for hit in log.hits if hit.words] == [1]


def test_lines_that_follow_one_another_are_not_put_together_if_the_second_begins_anew() -> None:
    text = "RuntimeError: it was broken in the midst of what it did and of the rows\nValueError: have messages\n"
    log = read_log([("x", [text.encode()])], LogQuery(("the rows ValueError",)))
    assert not [hit for hit in log.hits if hit.words]


SHORT = """Traceback (most recent call last):

  File /opt/lib/python3.11/site-packages/IPython/core/interactiveshell.py:3508 in run_code
    exec(code_obj, self.user_global_ns, self.user_ns)

  Cell In[16], line 1
    from tuner import train

  File /work/tuner.py:25
    def train(
             ^
SyntaxError: invalid syntax
"""


def test_the_short_frames_of_a_notebook_that_cannot_read_a_file_are_frames() -> None:
    (told,) = read(SHORT).tracebacks
    assert [(frame.file, frame.line) for frame in told.frames][1:] == [("In[16]", 1), ("/work/tuner.py", 25)]
    assert told.error[0].text == "SyntaxError: invalid syntax"
