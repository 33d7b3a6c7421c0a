"""A comment that lets nothing pass is told, and taken out; one that may be of use is left alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import check

SCRIPT = """\
# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from trl import SFTConfig

args = SFTConfig(
    output_dir="out",
    max_length=512,{on_length}
    warmup_ratios=0.1,{on_ratio}
)
"""
NONE = {"on_length": "", "on_ratio": ""}


def script(**comments: str) -> str:
    return SCRIPT.format_map(NONE | {name: f"  {comment}" for name, comment in comments.items()})


def asked(folder: Path, text: str, name: str = "train.py", **options: Any) -> dict[str, Any]:
    """What `check` answers about a file of its own."""
    path = folder / name
    path.write_text(text)
    (target,) = check([str(path)], offline=True, **options)["targets"]
    found: dict[str, Any] = target
    return found


def messages(target: dict[str, Any]) -> list[str]:
    return [each["message"] for each in target["findings"] if each["code"] == "SYN101"]


@pytest.mark.parametrize(
    ("comment", "said", "left"),
    [
        ("# holdfast: ignore[ARG999]", "no rule's code begins with 'ARG999'", ""),
        ("# holdfast: ignore[ARG101]", "ARG101 finds nothing here", ""),
        ("# holdfast: ignore[ARG101] with its reason", "ARG101 finds nothing here", ""),
        ("# holdfast: ignore[ARG101, ARG105]", "ARG101, ARG105 find nothing here", ""),
        ("# holdfast: ignore[arg101]", "no rule's code begins with 'arg101'", ""),
        ("# holdfast: ignore[]", "this comment suppresses nothing", ""),
        (
            "# noqa: E501  # holdfast: ignore[ARG101]  # type: ignore",
            "ARG101 finds nothing here",
            "  # noqa: E501  # type: ignore",
        ),
        ("# holdfast: ignore[ARG101]#x", "ARG101 finds nothing here", "  #x"),
    ],
)
def test_a_comment_of_no_use_is_told_and_taken_out(tmp_path: Path, comment: str, said: str, left: str) -> None:
    """Where everything that it speaks of was decided; what stands beside it stays."""
    assert messages(asked(tmp_path, script(on_length=comment))) == [said]

    asked(tmp_path, script(on_length=comment), fix=True)
    assert (tmp_path / "train.py").read_text() == script().replace("512,", f"512,{left}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# holdfast: ignore[ARG106, ARG999] it is mine", "# holdfast: ignore[ARG106] it is mine"),
        ("# holdfast: ignore[ARG101,ARG106]", "# holdfast: ignore[ARG106]"),
        ("# holdfast: ignore[ARG,ARG106,ARG999]", "# holdfast: ignore[ARG, ARG106]"),
        ("# holdfast: ignore ARG106", "# holdfast: ignore[ARG106]"),
        ("# holdfast: ignore ARG106, ARG105 it is mine", "# holdfast: ignore[ARG106] it is mine"),
    ],
)
def test_what_is_of_use_in_it_stays(tmp_path: Path, before: str, after: str) -> None:
    """The code of the finding that it lets pass, and the reason."""
    asked(tmp_path, script(on_ratio=before), fix=True)

    assert (tmp_path / "train.py").read_text() == script(on_ratio=after)
    assert not messages(asked(tmp_path, script(on_ratio=after)))


@pytest.mark.parametrize(
    ("comment", "options"),
    [
        ("# holdfast: ignore[ARG106]", {}),
        ("# holdfast: ignore[ARG]", {}),
        ("# holdfast: ignore[ARG106] ARG105 said the same once", {}),
        ("# holdfast: ignore it is mine", {}),
        ("# holdfast: ignore[ARG101]", {"ignore": ["ARG101"]}),
        ("# holdfast: ignore[ARG101]", {"select": ["DEP", "SYN"]}),
        ("# holdfast: ignore[ARG101]", {"select": ["ARG"]}),
        ("# holdfast: ignore[ARG999]", {"ignore": ["SYN101"]}),
        ("# holdfast: ignore[SYN101]", {}),
    ],
)
def test_a_comment_that_may_be_of_use_is_left_alone(tmp_path: Path, comment: str, options: dict[str, Any]) -> None:
    """It lets something pass, or a rule that it names was left out, so that nobody knows."""
    assert not messages(asked(tmp_path, script(on_ratio=comment), **options))


def test_a_finding_that_another_comment_lets_pass_is_no_use_of_this_one(tmp_path: Path) -> None:
    """Of two comments with the same code each must let something pass itself."""
    comment = "# holdfast: ignore[ARG106]"

    assert messages(asked(tmp_path, script(on_length=comment, on_ratio=comment))) == ["ARG106 finds nothing here"]


@pytest.mark.parametrize(
    ("comment", "title"),
    [
        ("# holdfast: ignore[ARG999]", "remove the comment"),
        ("# holdfast: ignore[ARG106,ARG999,ARG101]", "remove ARG999, ARG101"),
        ("# holdfast: ignore ARG106, ARG105 it is mine", "write `ignore[ARG106, ARG105]`"),
    ],
)
def test_the_finding_marks_the_comment_and_says_what_its_fix_does(tmp_path: Path, comment: str, title: str) -> None:
    """From its `#` to its end, so that an editor underlines it."""
    found = asked(tmp_path, script(on_ratio=f"{comment}"))["findings"]
    (told,) = [each for each in found if each["code"] == "SYN101"]
    line = script().splitlines().index("    warmup_ratios=0.1,") + 1

    assert told["fix"]["title"] == title
    assert (told["line"], told["end_line"]) == (line, line)
    assert (told["column"], told["end_column"]) == (25, 25 + len(comment))
    assert ("ARG106" in told["message"]) is ("write" in title)


def test_a_skip_is_no_proof(tmp_path: Path) -> None:
    """Offline, nobody knows whether the dataset is there, and of a value that is hidden nobody knows its type."""
    text = 'import os\nfrom datasets import load_dataset\nload_dataset("acme/chats")  # holdfast: ignore[{}]\n'

    assert not messages(asked(tmp_path, text.format("DAT107")))
    hidden = script(on_length="# holdfast: ignore[ARG102]")
    assert messages(asked(tmp_path, hidden)) == ["ARG102 finds nothing here"]
    assert not messages(asked(tmp_path, hidden.replace("512", "int(input())")))


def test_a_line_of_its_own_goes_with_its_line(tmp_path: Path) -> None:
    """So does a comment on the whole file; the last line of a file may end in nothing."""
    good = script()
    for text in (
        f"# holdfast: ignore-file[IMP] old\n{good}",
        good.replace("    max", "    # holdfast: ignore[ARG1]\n    max"),
    ):
        asked(tmp_path, text, fix=True)
        assert (tmp_path / "train.py").read_text() == good
    asked(tmp_path, f"{good}# holdfast: ignore-file[IMP]", fix=True)
    assert (tmp_path / "train.py").read_text() == good


def test_other_files_have_comments_too(tmp_path: Path) -> None:
    """A job file's is taken out likewise; that of a shell script is told."""
    job = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings{}\n"
    text = job.format("  # holdfast: ignore[ARG101]")

    assert messages(asked(tmp_path, text, "job.yaml")) == ["ARG101 finds nothing here"]
    asked(tmp_path, text, "job.yaml", fix=True)
    assert (tmp_path / "job.yaml").read_text() == job.format("")
    shell = "trl sft --model_name_or_path a/b --dataset_name c/d  # holdfast: ignore[ARG101]\n"
    assert messages(asked(tmp_path, shell, "train.sh")) == ["ARG101 finds nothing here"]


def test_a_cell_of_a_notebook_has_its_own(tmp_path: Path) -> None:
    """A comment is taken out of its cell, and nothing else is touched."""
    source = "def f():\n    # holdfast: ignore[ARG999]\n    return 1  # holdfast: ignore[ARG999]\n"
    cells = [{"cell_type": "code", "source": text} for text in ("from trl import SFTConfig\n", source)]
    asked(tmp_path, json.dumps({"cells": cells, "nbformat": 4}), "train.ipynb", fix=True)

    left = json.loads((tmp_path / "train.ipynb").read_text())["cells"]
    assert ["".join(cell["source"]) for cell in left] == [
        "from trl import SFTConfig\n",
        "def f():\n    return 1\n",
    ]


def test_a_mended_finding_leaves_no_comment_behind(tmp_path: Path) -> None:
    """A file that is fixed by hand is told of what stays behind."""
    stale = script(on_length="# holdfast: ignore[ARG101]").replace("max_length", "max_seq_length")

    assert not messages(asked(tmp_path, stale))
    assert messages(asked(tmp_path, stale.replace("max_seq_length", "max_length")))
