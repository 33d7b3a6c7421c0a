"""A command line that the script's own parser refuses is reported where it is written, and only then."""

from pathlib import Path
from typing import Any

import pytest

import holdfast

SCRIPT = """import argparse
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
{options}
options = parser.parse_args()
args = SFTConfig(output_dir="out", learning_rate=options.learning_rate)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
REQUIRED = 'parser.add_argument("-l", "--learning_rate", type=float, required=True)'
GROUPED = 'group = parser.add_argument_group("g")\ngroup.add_argument("--learning_rate", type=float, default=1e-5)'
NEGATABLE = GROUPED + '\nparser.add_argument("--packing", action=argparse.BooleanOptionalAction)'


def findings(line: str, options: str, folder: Path) -> list[tuple[str, int, str]]:
    """Return rule, column and message of what is found of a script's command line."""
    (folder / "train.py").write_text(SCRIPT.format(options=options))
    (folder / "run.sh").write_text(f"{line}\n")
    answer: dict[str, Any] = holdfast.check(str(folder / "run.sh"), offline=True, select=["ARG"])["targets"][0]
    return [(each["code"], each["column"], each["message"]) for each in answer["findings"]]


@pytest.mark.parametrize(
    ("line", "options", "column", "words"),
    [
        ("python train.py --lerning_rate 1e-5", REQUIRED, 17, "did you mean `--learning_rate`?"),
        ("python train.py -l 1e-5 --seed=1", REQUIRED, 25, "no option `--seed`"),
        ("torchrun train.py", REQUIRED, 10, "requires `--learning_rate`"),
        ("python train.py --learning_rate $RATE --seed 1", GROUPED, 39, "no option `--seed`"),
        ('python train.py "${MORE[@]}" --lerning_rate 1', GROUPED, 30, "`--learning_rate`"),
        ("python train.py --no-packed", NEGATABLE, 17, "did you mean `--no-packing`?"),
        ("$LAUNCHER train.py --seed 1", REQUIRED, 20, "no option `--seed`"),
    ],
)
def test_what_the_parser_refuses_is_one_error_at_its_word(
    line: str, options: str, column: int, words: str, tmp_path: Path
) -> None:
    """The one that is meant is no second error as a missing one, and a required option that is missing is not None."""
    ((code, at, message),) = findings(line, options, tmp_path)
    assert (code, at) == ("ARG124", column), message
    assert words in message


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("python train.py -l1e-5", REQUIRED),
        ("python train.py --learn 1e-5", REQUIRED),
        ('python train.py "$@"', REQUIRED),
        ("$LAUNCHER train.py", REQUIRED),
        ("python train.py --help", REQUIRED),
        ("python train.py --no-packing -- --seed", NEGATABLE),
        ("python train.py --seed 1", GROUPED + "\nfor name in names():\n    parser.add_argument(name)"),
        ("python train.py --seed 1", GROUPED + "\nplugins.add(parser)"),
        ("python train.py --seed 1", GROUPED + '\nparser.add_argument("rest", nargs=argparse.REMAINDER)'),
        ("python train.py --seed 1", GROUPED + '\nparser.add_argument("rest", nargs="...")'),
        ("python train.py --seed 1", GROUPED + "\nparts = parser.add_subparsers()"),
        ("python train.py --seed 1", GROUPED + "\nparser, more = parser, parser.parse_known_args()"),
        ("python train.py --seed 1", GROUPED + "\nimport sys\nsys.argv.pop()"),
    ],
)
def test_what_the_parser_may_take_is_no_error(line: str, options: str, tmp_path: Path) -> None:
    """Beginnings of options, what is not known, and parsers of which not every option can be seen."""
    assert findings(line, options, tmp_path) == []


def test_what_is_written_out_counts_after_what_is_not_known(tmp_path: Path) -> None:
    """A variable that starts the script may give arguments before those of the command, which count then."""
    (tmp_path / "train.py").write_text(SCRIPT.format(options=REQUIRED))
    for line in ("$LAUNCHER train.py --learning_rate 2", 'python train.py "${MORE[@]}" --learning_rate 2'):
        (tmp_path / "run.sh").write_text(f"{line}\n")
        found = holdfast.check(str(tmp_path / "run.sh"), offline=True, select="CMB106")["targets"][0]["findings"]
        assert [each["severity"] for each in found] == ["error"], line
