"""Command lines are read as a shell and the launchers would read them."""

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.command_line import CommandLine, read_commands
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.command_line.words import split_commands
from holdfast.core.document import Unknown
from holdfast.core.text import Place


def only(text: str) -> CommandLine:
    (line,) = read_commands(text, "run.sh")
    return line


def words(text: str) -> list[list[str]]:
    return [[word.text for word in command] for command in split_commands(text, "run.sh")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b # c", [["a", "b"]]),
        ("a#b 'c # d'", [["a#b", "c # d"]]),
        ("a \\\n  b\nc", [["a", "b"], ["c"]]),
        ("a && b || c; d | e &", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a > out 2>&1 < in b", [["a", "b"]]),
        ("cat <<EOF\ntrl sft\nEOF\nb", [["cat"], ["b"]]),
        ("""a "b 'c' \\"d\\"" e'f'"g" """, [["a", "b 'c' \"d\"", "efg"]]),
        ("N=2\nM=$N\na $N ${M} '$N'", [["a", "2", "2", "$N"]]),
        ('export N=2 M=3\na "$N-$M"', [["a", "2-3"]]),
        ("N=$(nproc)\na $N", [["a", "$N"]]),
        ("N=1 a", [["N=1", "a"]]),
        ("(a; b)", [["a"], ["b"]]),
        ("", []),
    ],
)
def test_words_are_those_of_a_shell(text: str, expected: list[list[str]]) -> None:
    """Quotes, escapes, comments, redirections, here-documents and plain variables are as in any shell."""
    assert words(text) == expected


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_quoted_words_come_back(given_words: list[str]) -> None:
    """Whatever `shlex` quotes is read as the words it was: spaces, quotes, `; echo`, line breaks and all."""
    line = shlex.join(["run", *given_words])
    assert words(line) == [["run", *given_words]]


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """No text raises."""
    read_commands(text, "run.sh")


@pytest.mark.parametrize(
    ("text", "launchers", "said", "program"),
    [
        ("python train.py --a 1", (), {}, "train.py"),
        ("/usr/bin/python3.12 -u train.py", (), {}, "train.py"),
        ("python -m trl.scripts.sft --a 1", (), {}, "trl.scripts.sft"),
        ("torchrun --nproc_per_node=4 --nnodes 2 train.py", ("torchrun",), {"where.processes": 4, "where.nodes": 2}, "train.py"),
        ("python -m torch.distributed.run --standalone --nproc-per-node 2 -m pkg.train", ("python -m torch.distributed.run",), {"where.processes": 2, "where.nodes": 1}, "pkg.train"),
        ("accelerate launch --multi_gpu --num_processes 8 --config_file z.yaml train.py", ("accelerate launch",), {"where.world_size": 8, "where.accelerate_config": "z.yaml"}, "train.py"),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 2 train.py", ("deepspeed",), {"environment.variables.CUDA_VISIBLE_DEVICES": "0,1", "where.processes": 2}, "train.py"),
        ("uv run --with trl==0.19.1 --with peft --python 3.12 train.py", ("uv run",), {"environment.requirements": ["trl==0.19.1", "peft"], "environment.python": "3.12"}, "train.py"),
        ("hf jobs uv run --flavor a10g-large -s HF_TOKEN -d --timeout 2h train.py --x", ("hf jobs uv run",), {"where.backend": "hf-jobs", "where.hardware": "a10g-large", "environment.secrets": ["HF_TOKEN"], "where.timeout": "2h"}, "train.py"),
        ("hf jobs run --flavor t4-small pytorch/pytorch python train.py", ("hf jobs run",), {"where.backend": "hf-jobs", "where.hardware": "t4-small", "where.options.image": "pytorch/pytorch"}, "train.py"),
        ("nohup poetry run accelerate launch train.py &", ("nohup", "poetry run", "accelerate launch"), {}, "train.py"),
        ("torchrun --nproc_per_node $GPUS train.py", ("torchrun",), {"where.processes": Unknown("a variable of the shell"), "where.nodes": 1}, "train.py"),
    ],
)  # fmt: skip
def test_launchers_are_taken_off(text: str, launchers: tuple[str, ...], said: dict[str, Any], program: str) -> None:
    """What is left is the program; what the launchers say is kept."""
    line = only(text)

    assert (line.launch.by, line.launch.values) == (launchers, said)
    assert line.program
    assert line.program.name.text == program


def test_other_commands_are_left_alone() -> None:
    """What runs no Python is none of our business."""
    assert read_commands("mkdir -p out && nvidia-smi\nif [ -f x ]; then echo; fi\npip install trl", "run.sh") == []


def test_a_command_of_trl_is_a_call() -> None:
    """Its options are the arguments of one parser; numbers with a sign are values; a place is where it is written."""
    line = only("trl sft --learning_rate=2e-5 --dataset-name a/b --x -1 --tags a b --packing --y $Z")
    document = command_document(line, "", "run.sh")

    assert document
    (call,) = document.calls
    assert (call.path, call.via) == ("trl sft", "parser")
    assert call.arguments == {
        "learning_rate": "2e-5",
        "dataset_name": "a/b",
        "x": "-1",
        "tags": ["a", "b"],
        "packing": True,
        "y": Unknown("a variable of the shell"),
    }
    assert document.get("dataset.path") == "a/b"
    assert document.key_places["train", "learning_rate"] == Place("run.sh", 1, 9, 1, 24)
    assert document.places["train", "learning_rate"] == Place("run.sh", 1, 25, 1, 29)
