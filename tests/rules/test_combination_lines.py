"""Contradictory settings are told of on command lines and in recipes, and where a script parses them, as in a call."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.adapters.readers.command_line import command_document, read_commands
from holdfast.adapters.readers.foreign import find_reader
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api
from holdfast.core.check.finding import Finding, Severity
from holdfast.core.job.document import Document
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.rules import all_rules

API = Api({"trl": "1.16.0", "transformers": "5.23.0"})
RULES = [rule for rule in all_rules() if rule.code in ("CMB103", "EVL102", "PRC102")]
BEST = "--eval_strategy steps --load_best_model_at_end"
REFUSED = [
    (f"{BEST} --eval_steps 20 --save_steps 30", "EVL102 save_steps"),
    (f"{BEST} --save_strategy epoch", "EVL102 save_strategy"),
    ("--dataloader_prefetch_factor 2", "CMB103 dataloader_prefetch_factor"),
    ("--dataloader_prefetch 2", "CMB103 dataloader_prefetch"),
    ("--warmup_steps -1", "CMB103 warmup_steps"),
    ("--fp16 --bf16 y", "PRC102 bf16"),
]
TAKEN = [
    f"{BEST} --eval_steps 20 --save_steps 40",
    f"{BEST} --eval_steps None",
    "--dataloader_prefetch_factor 2 --dataloader_num 2",
    "--fp16",
    "--fp16 --bf16 n",
    "--packing --max_length None",
]
RECIPE = "model_name_or_path: a/b\noutput_dir: sft\nfp16: true\nbf16: true\n"
SCRIPT = """
from transformers import HfArgumentParser
from trl import SFTConfig

(args,) = HfArgumentParser(SFTConfig).parse_args_into_dataclasses({})
"""


def errors(document: Document) -> list[str]:
    """Return the rule and the setting of each error."""
    return list(_errors(document))


def _errors(document: Document) -> Iterator[str]:
    for result in run_rules(RULES, document, {"api": API}):
        if isinstance(result, Finding) and result.rule and severity_of(result) is Severity.ERROR:
            yield f"{result.rule.code} {result.key.rpartition('.')[2]}"


def command(text: str) -> Document:
    (line,) = read_commands(text, "train.sh")
    document = command_document(line, text, "train.sh")
    assert document is not None
    return document


def parsed(given: str, argv: list[str] | None = None) -> Document:
    (document,) = read_script(SCRIPT.format(given), "train.py", argv=argv)
    return document


@pytest.mark.parametrize(("flags", "expected"), [*REFUSED, *((flags, "") for flags in TAKEN)])
def test_parsed_settings_are_judged_as_those_of_a_call(flags: str, expected: str) -> None:
    """The same words: on the command line of TRL, after a script's name, and in a list that the script parses itself."""
    words = ["--output_dir", "out", *shlex.split(flags)]
    wanted = [expected] if expected else []
    rule = [expected.partition(" ")[0]] if expected else []

    assert errors(command(f"trl sft --model_name_or_path a/b --dataset_name c/d --output_dir out {flags}\n")) == wanted
    assert [each.partition(" ")[0] for each in errors(parsed("", words))] == rule
    assert [each.partition(" ")[0] for each in errors(parsed(f"args={words}"))] == rule


@pytest.mark.train
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("flags", [*(flags for flags, _ in REFUSED), *TAKEN])
def test_trls_parser_agrees(flags: str) -> None:
    """What is told of is what TRL's parser and its config class refuse; they take the rest."""
    trl = pytest.importorskip("trl")
    parser = trl.TrlParser((trl.ScriptArguments, trl.SFTConfig, trl.ModelConfig))
    words = ["--output_dir", "out", "--use_cpu", *shlex.split(flags)]

    if flags in TAKEN:
        parser.parse_args_and_config(words)
    else:
        with pytest.raises(ValueError, match=r".+"):
            parser.parse_args_and_config(words)


def test_a_finding_stands_at_the_flag() -> None:
    """The place is that of the flag that was written last of those that contradict each other."""
    text = "trl sft --model_name_or_path a/b --fp16 --bf16 true\n"
    document = command(text)
    (found,) = (each for each in run_rules(RULES, document, {"api": API}) if isinstance(each, Finding))
    place = document.key_places["train", "bf16"]

    assert found.key == "train.bf16"
    assert text[(place.column or 0) - 1 :].startswith("--bf16")


def test_a_recipe_is_judged_by_its_commands_dataclasses(tmp_path: Path) -> None:
    """A recipe by itself may be completed on a command line: only what it writes is certain."""
    path = str(tmp_path / "sft.yaml")
    best = "output_dir: out\neval_strategy: steps\nload_best_model_at_end: true\neval_steps: 20\nsave_steps: 30\n"

    assert errors(recipe(RECIPE, path)) == ["PRC102 bf16"]
    assert errors(recipe(RECIPE.replace("bf16: true", "bf16: false"), path)) == []
    assert errors(recipe(f"model_name_or_path: a/b\n{best}", path)) == []
    assert errors(recipe(f"model_name_or_path: a/b\n{best}save_strategy: steps\n", path)) == ["EVL102 save_steps"]


def recipe(text: str, path: str) -> Document:
    document = JobFileReader().read(text, path)
    reader = find_reader(document.values)
    assert reader
    return reader(document)


def test_a_list_flag_is_a_list() -> None:
    """One word after a flag that takes several is a list of one."""
    line = "trl dpo --model_name_or_path a/b --dataset_name c/d --output_dir out --loss_weights 1.0 --loss_type sigmoid"

    assert errors(command(f"{line}\n")) == []
    assert errors(command(f"{line} sft\n")) == ["CMB103 loss_type"]


def test_a_parsing_call_gets_no_argument() -> None:
    """The words that a script parses stand outside of it: no fix writes settings into the parser's call."""
    document = parsed("", ["--output_dir", "out", "--eval_strategy", "epoch", "--load_best_model_at_end"])
    (found,) = (each for each in run_rules(RULES, document, {"api": API}) if isinstance(each, Finding))

    assert found.fix is None
