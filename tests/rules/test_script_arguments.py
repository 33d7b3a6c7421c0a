"""A command line that the script's own parser refuses is reported where it is written, and only then."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import holdfast
from holdfast.adapters.readers.script import read_script
from holdfast.core.job.document import Unknown

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

CHOOSING = (
    GROUPED
    + '\nparser.add_argument("--fast", action="store_true")\nparser.add_argument("--kind", choices=["sft", "dpo"])'
    + '\nparser.add_argument("--level", type=int, choices=[1, 2])'
)
POSITIONAL = GROUPED + '\nparser.add_argument("data")'


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
        ("python train.py --learning_rate fast", GROUPED, 33, "invalid float value: 'fast'"),
        ("python train.py --learning_rate=fast", GROUPED, 17, "invalid float value: 'fast'"),
        ("python train.py -l fast", REQUIRED, 20, "argument -l/--learning_rate: invalid float value"),
        ("python train.py --learning_rate", GROUPED, 17, "expected one argument"),
        ("python train.py --fast true", CHOOSING, 24, "`--fast` takes no value"),
        ("python train.py --fast=true", CHOOSING, 17, "ignored explicit argument 'true'"),
        ("python train.py --kind sfft", CHOOSING, 24, "invalid choice: 'sfft'"),
        ("python train.py --kind dpo --level 9", CHOOSING, 36, "invalid choice: 9"),
        ('python train.py "${MORE[@]}" --kind sfft', CHOOSING, 37, "invalid choice: 'sfft'"),
        ("python train.py rows.jsonl more.jsonl", POSITIONAL, 28, "no option takes it"),
        ("python train.py --learning_rate 1", POSITIONAL, 8, "the following arguments are required: data"),
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
        ("python train.py --fast --kind dpo --level 2", CHOOSING),
        ("python train.py --learning_rate $RATE", GROUPED),
        ("python train.py --level $LEVEL --kind $KIND", CHOOSING),
        ('python train.py "$@" 5', CHOOSING),
        ("python train.py --shift -1", GROUPED + '\nparser.add_argument("--shift", type=int)'),
        ("python train.py --shift -1e-5", GROUPED + '\nparser.add_argument("--shift", type=float)'),
        ("python train.py rows.jsonl --learning_rate 1", POSITIONAL),
        ("python train.py $ROWS", POSITIONAL),
        ("python train.py --names a b c", GROUPED + '\nparser.add_argument("--names", nargs="+")'),
        ("python train.py --kind x", GROUPED + '\nparser.add_argument("--kind", choices=kinds())'),
        ("python train.py --kind x", GROUPED + '\nparser.add_argument("--kind", type=read, choices=["y"])'),
        ("python train.py --when x", GROUPED + '\nparser.add_argument("--when", action=Own)'),
        ("python train.py --level 2 3", GROUPED + '\nparser.add_argument("--level", type=int, nargs=2)'),
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


DATACLASSES = """from dataclasses import dataclass
from typing import Optional
from datasets import load_dataset
from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser


@dataclass
class DataArguments:
    data_file: str = "rows.jsonl"
    question: Optional[str] = None
    limit: int = 100


data_args, args, model_args = TrlParser((DataArguments, SFTConfig, ModelConfig)).parse_args_and_config()
rows = load_dataset("json", data_files=data_args.data_file, split="train")
rows = rows.map(lambda row: {"text": row["txt"]})
trainer = SFTTrainer(model=model_args.model_name_or_path, args=args, train_dataset=rows)
"""
ARGPARSE = """import argparse
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--data_file", default="rows.jsonl")
parser.add_argument("--model_name_or_path", "-m")
options = parser.parse_args()
rows = load_dataset("json", data_files=options.data_file, split="train")
rows = rows.map(lambda row: {"text": row["txt"]})
trainer = SFTTrainer(model=options.model_name_or_path, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""


@pytest.mark.parametrize("script", [DATACLASSES, ARGPARSE])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--data_file gone.jsonl", [("DAT123", "run.sh", 29)]),
        ("--data_file=gone.jsonl", [("DAT123", "run.sh", 17)]),
        ("--data_file rows.jsonl", [("DAT126", "train.py", None)]),
        ("", [("DAT126", "train.py", None)]),
        ("--model_name_or_path ./gone", [("DAT126", "train.py", None), ("MOD108", "run.sh", 38)]),
        ("--data_file other.jsonl", []),
        ("--data_file $ROWS", []),
        ('"$@"', []),
    ],
)
def test_values_of_the_command_line_are_used_and_pointed_at(
    script: str,
    words: str,
    expected: list[tuple[str, str, int | None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the command gives, or else the default, is looked for; what is missing is reported at its word, once."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(script)
    Path("rows.jsonl").write_text('{"text": "a"}\n')
    Path("other.jsonl").write_text('{"txt": "a"}\n')
    Path("run.sh").write_text(f"python train.py {words}\n")
    (answer,) = holdfast.check("run.sh", offline=True, select=["DAT12", "MOD108"])["targets"]
    found = [(each["code"], each["path"], each["column"]) for each in answer["findings"]]
    assert sorted(found, key=str) == sorted(
        [(code, path, column or next(each[2] for each in found if each[0] == code)) for code, path, column in expected],
        key=str,
    )
    (again,) = holdfast.check("train.py", arguments=words.split(), offline=True, select=["DAT12", "MOD108"])["targets"]
    if "$" not in words and "@" not in words:
        assert {each["code"] for each in again["findings"]} == (
            {each[0] for each in expected} if words or script == ARGPARSE else set()
        )


@pytest.mark.parametrize(
    ("field", "words", "given"),
    [
        ("limit: int = 3", "--limit 5", 5),
        ("limit: int = 3", "", 3),
        ("limit: int = 3", "--lim 5", "?"),
        ("fast: bool = False", "--fast", True),
        ("fast: bool = True", "--no_fast", False),
        ("fast: bool = False", "--fast yes", True),
        ("rate: Optional[float] = None", "--rate 1e-5", 1e-5),
        ("rate: Optional[float] = None", "", None),
        ("names: list[str] = field(default_factory=list)", "--names a b", ["a", "b"]),
        ("names: list[str] = field(default_factory=list)", "", "?"),
        ("kind: Literal['a', 'b'] = 'a'", "--kind b", "b"),
        ("path: Path = Path('x')", "--path y", "?"),
        ("name: str = field(default='x', metadata={'aliases': ['-n']})", "-n y", "?"),
        ("either: Union[int, str] = 1", "--either 2", "?"),
    ],
)
def test_fields_get_what_the_parser_makes_of_the_words(field: str, words: str, given: object) -> None:
    """By their annotations; what cannot be known stays unknown."""
    source = (
        "from dataclasses import dataclass, field\nfrom pathlib import Path\nfrom typing import Literal, Optional, Union\n"
        f"from transformers import HfArgumentParser\nfrom trl import SFTConfig\n\n\n@dataclass\nclass Mine:\n    {field}\n\n\n"
        f"(mine,) = HfArgumentParser((Mine,)).parse_args_into_dataclasses()\nSFTConfig(x=mine.{field.partition(':')[0]})\n"
    )
    (document,) = read_script(source, "train.py", argv=words.split())
    value = next(call for call in document.calls if call.name == "SFTConfig").arguments["x"]
    assert (value == given) if given != "?" else isinstance(value, Unknown), value

    if given != "?":
        ran = source.replace("parse_args_into_dataclasses()", f"parse_args_into_dataclasses({words.split()!r})")
        assert given == _run(ran, field.partition(":")[0])


def _run(source: str, name: str) -> object:
    """Return what transformers' own parser gives to a field."""
    pytest.importorskip("transformers")
    module = ModuleType("mine")
    sys.modules["mine"] = module
    try:
        exec(source.partition("SFTConfig(x=")[0].replace("from trl import SFTConfig\n", ""), module.__dict__)
    finally:
        del sys.modules["mine"]
    return getattr(module.__dict__["mine"], name)


@pytest.mark.parametrize(
    ("option", "line", "severities"),
    [
        ('"--learning_rate", default="1e-5"', None, ["error"]),
        ('"--learning_rate", type=str, required=True', None, ["error"]),
        ('"--learning_rate", default=1e-5', None, ["warning"]),
        ('"--learning_rate"', "--learning_rate 1e-5", ["error"]),
        ('"--learning_rate", default=1e-5', "", []),
        ('"--learning_rate", default="1e-5", type=float', None, []),
        ('"--learning_rate", default="1e-5", type=float', "", []),
        ('"--learning_rate", type=lambda word: float(word)', None, []),
        ('"--learning_rate", nargs="+"', None, []),
    ],
)
def test_an_option_without_its_type_is_reported_where_it_is_added(
    option: str, line: str | None, severities: list[str], tmp_path: Path
) -> None:
    """Whatever the command line says of it is text; what converts it, or never gets text, is not reported."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(options=f"parser.add_argument({option})"))
    words = line.split() if line is not None else []
    target: dict[str, Any] = (
        holdfast.check(str(path), offline=True, select=["ARG"])
        if line is None
        else holdfast.check(arguments=["python", str(path), *words], offline=True, select=["ARG"])
    )["targets"][0]

    assert [each["severity"] for each in target["findings"]] == severities
    assert {(each["code"], each["line"]) for each in target["findings"]} <= {("ARG126", 5)}
    assert all("add `type=float`" in each["message"] for each in target["findings"])


@pytest.mark.parametrize(
    "changed", ["options.learning_rate = float(options.learning_rate)", "options = other(options)"]
)
def test_an_option_that_the_script_converts_itself_is_fine(changed: str) -> None:
    """What is assigned to the attribute later is what counts."""
    text = SCRIPT.format(options='parser.add_argument("--learning_rate")').replace("args = ", f"{changed}\nargs = ")
    (document,) = read_script(text, "train.py")

    assert all(not call.options for call in document.calls)
