"""Lines without what launchers, collectors, bars and boxes put around them."""

import pytest

from holdfast.engine.diagnose.cleaning import bare, clean, decode, is_bar, prefix_of, step_in, time_in

LINES = {
    '[rank1]:   File "x.py", line 3': ('  File "x.py", line 3', 1, ""),
    "[rank0]: ValueError: x": ("ValueError: x", 0, ""),
    "[default3]:ValueError: x": ("ValueError: x", 3, ""),
    "2: ValueError: x": ("ValueError: x", 2, ""),
    "[1,5]<stderr>: ValueError: x": ("ValueError: x", 5, ""),
    "(EngineCore_DP0 pid=4242) ValueError: x": ("ValueError: x", None, "EngineCore_DP0 pid=4242"),
    "(EngineCore_DP0 pid=42) ERROR 11-20 15:52:41 [core.py:708] ValueError: x": (
        "ValueError: x",
        None,
        "EngineCore_DP0 pid=42",
    ),
    "(train_fn pid=55440, ip=10.0.0.3) ValueError: x": ("ValueError: x", None, "train_fn pid=55440"),
    "ERROR 01-11 13:09:40 engine.py:366] ValueError: x": ("ValueError: x", None, ""),
    "Nov 20 15:52:41 node7 train.sh[4242]: ValueError: x": ("ValueError: x", None, "train.sh"),
    "2026-11-20T15:52:41.123456789Z ValueError: x": ("ValueError: x", None, ""),
    "2026-11-20T15:52:41.123Z stderr F [rank2]: ValueError: x": ("ValueError: x", 2, ""),
    "2026-11-20 15:52:41,123 - ValueError: x": ("ValueError: x", None, ""),
    "[pod/sft-0/trainer] ValueError: x": ("ValueError: x", None, "pod/sft-0/trainer"),
    "      2 [rank0]: ValueError: x": ("ValueError: x", 0, ""),
    " 25%|██▌       | 5/20 [00:00<00:00, 23.97it/s][rank1]: ValueError: x": ("ValueError: x", 1, ""),
    "Steps:   0%|▏  | 1/800 [00:17<3:57:13, 17.81s/it, lr=5e-5, step_loss=0.0114]ERROR: bus error": (
        "ERROR: bus error",
        None,
        "",
    ),
    "Map:  98%|█| 81273/82730 [01:36<00:01, 843.85 examples/s]ValueError: x": ("ValueError: x", None, ""),
    "│ /home/u/train.py:12 in main                    │": ("/home/u/train.py:12 in main", None, ""),
    "ERROR:hf-to-gguf:Model X is not supported": ("ERROR:hf-to-gguf:Model X is not supported", None, ""),
    "slurmstepd: error: *** JOB 1 CANCELLED ***": ("slurmstepd: error: *** JOB 1 CANCELLED ***", None, ""),
    "2026-11-20 15:52:41 CET ValueError: x": ("ValueError: x", None, ""),
    "[2026-11-20 15:52:41 UTC] ValueError: x": ("ValueError: x", None, ""),
    "15:52:41.123   File x": ("  File x", None, ""),
    "2026-11-20 15:52:41,123 - trl.trainer - ERROR - ValueError: x": ("ValueError: x", None, ""),
    "2026-11-20 15:52:41.123 | ERROR    | __main__:main:42 - ValueError: x": ("ValueError: x", None, ""),
    "11/20/2026 15:52:41 - ERROR - __main__ -   ValueError: x": ("ValueError: x", None, ""),
    "[ERROR|trainer.py:43] 2026-11-20 15:52:41,123 >> ValueError: x": ("ValueError: x", None, ""),
    "trainer-1  | ValueError: x": ("ValueError: x", None, "trainer-1"),
    "[1,mpirank:3,algo-1]<stderr>:ValueError: x": ("ValueError: x", 3, ""),
    "(worker1, rank=1, pid=12, ip=10.0.0.2) ValueError: x": ("ValueError: x", 1, "worker1, rank=1, pid=12"),
    "[node-0][rank-3]: ValueError: x": ("ValueError: x", 3, ""),
    "> > ValueError: x": ("ValueError: x", None, ""),
    "E       ValueError: x": ("ValueError: x", None, ""),
    "    | ValueError: x": ("ValueError: x", None, ""),
    "| a table | of numbers |": ("| a table | of numbers |", None, ""),
    "[2026-11-20 15:52:41,123] [INFO] [launch.py:1] x": ("[INFO] [launch.py:1] x", None, ""),
    "NameError: name \u2018x\u2019 is not\xa0\u201cdefined\u201d": ("NameError: name 'x' is not \"defined\"", None, ""),
    "404: Not Found": ("404: Not Found", None, ""),
    "hpc-25-14:18569:18835 [0] bootstrap.cc:131 NCCL WARN": (
        "hpc-25-14:18569:18835 [0] bootstrap.cc:131 NCCL WARN",
        None,
        "",
    ),
}


@pytest.mark.parametrize("raw", LINES)
def test_only_the_text_is_left_and_what_prefixes_tell_is_kept(raw: str) -> None:
    line = clean(raw)
    assert (line.text, line.rank, line.source) == LINES[raw]


def test_a_bar_alone_is_the_line_and_is_known_for_one() -> None:
    bar = " 26%|██▌       | 1488/5798 [7:44:21<22:06:08, 18.46s/it]"
    assert clean(bar).text == bar
    assert is_bar(bar)
    assert step_in(bar) == (1488, 5798)
    assert not is_bar("a table | with | bars")


def test_times_are_read_from_stamps_of_collectors_and_of_torch() -> None:
    assert clean("2026-11-20T15:52:41.5Z x").at_s == time_in("2026-11-20 15:52:41.5")
    first, second = (
        clean(f"[rank0]:[E1122 06:40:0{at}.504052851 ProcessGroupNCCL.cpp:616] x").at_s or 0 for at in (0, 1)
    )
    assert second - first == 1
    assert time_in("2026-99-20 15:52:41") is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("naïve ▏".encode(), "naïve ▏"),
        ("Datei für Spaß".encode("latin-1"), "Datei für Spaß"),
        ("▏▏▏".encode()[1:], "\ufffd\ufffd▏▏"),
    ],
    ids=["utf-8", "latin-1", "cut"],
)
def test_bytes_are_decoded_whatever_they_are(raw: bytes, text: str) -> None:
    assert decode(raw) == text


def test_what_some_collector_puts_before_every_line_is_learnt() -> None:
    texts = [
        f"job/7 sft worker {at % 3}: {text}"
        for at, text in enumerate(["a", "b c", "  d", "e: 1", "f", "g 7", "h", "i"])
    ]
    found = prefix_of(texts)
    assert found is not None
    assert [found.sub("", text, count=1) for text in texts[:4]] == ["a", "b c", "  d", "e: 1"]
    assert prefix_of([*texts[:5], "another", "yet another", "and one more"]) is None
    assert prefix_of([f"step {at}: loss 1.{at}" for at in range(20)]) is None


def test_levels_and_signs_of_quotation_may_stand_before_a_text() -> None:
    texts = ["ERROR:__main__:KeyError: 1", "[error] KeyError: 1", "  KeyError: 1", "WARNING: KeyError: 1"]
    assert {bare(text) for text in texts} == {"KeyError: 1"}
    assert bare("KeyError: 1") == "KeyError: 1"
