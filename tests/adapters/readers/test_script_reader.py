"""What a script says, read without running it."""

from collections.abc import Callable, Sequence
from textwrap import dedent
from typing import Any

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.core.job.calls import Call, CallResult, LibraryName, LocalName
from holdfast.core.job.document import Document, Unknown
from holdfast.core.rows.columns import Scalar
from holdfast.core.text.places import LineIndex, Place

Beside = Callable[[str], str | None]


def read(text: str, *, beside: Beside | None = None, argv: Sequence[str] | None = None) -> Document:
    (document,) = read_script(dedent(text), "train.py", beside=beside, argv=argv)
    return document


def calls_of(document: Document, path: str) -> list[Call]:
    return [call for call in document.calls if call.path == path]


def config(text: str, *, beside: Beside | None = None, argv: Sequence[str] | None = None) -> Call:
    """Return the one SFTConfig of a script that imports it already."""
    document = read(f"from trl import SFTConfig, SFTTrainer\n{dedent(text)}", beside=beside, argv=argv)
    (call,) = calls_of(document, "trl.SFTConfig")
    return call


def written_at(text: str, place: Place) -> str:
    lines = LineIndex(text)
    start, end = (place.line or 0, place.column or 0), (place.end_line or 0, place.end_column or 0)
    return text[lines.offset(start) : lines.offset(end)]


JOB = """\
import os
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

os.environ["WANDB_PROJECT"] = "x"
model = AutoModelForCausalLM.from_pretrained(
    "org/model", torch_dtype="bfloat16", quantization_config=BitsAndBytesConfig(load_in_4bit=True)
)
data = load_dataset("org/data", "main", split="train").map(str)
args = SFTConfig(output_dir="out", max_length=512)
trainer = SFTTrainer(model, args=args, train_dataset=data, peft_config=LoraConfig(r=8))
trainer.train(resume_from_checkpoint=True)
"""


def test_a_job_stands_under_the_keys_of_a_job() -> None:
    job = read(JOB)
    assert job.get("method") == "sft"
    assert job.get("trainer.class") == "trl.SFTTrainer"
    assert job.get("train") == {"output_dir": "out", "max_length": 512}
    assert job.get("peft.r") == 8
    assert job.get("quantization.load_in_4bit") is True
    assert (job.get("model.path"), job.get("model.dtype")) == ("org/model", "bfloat16")
    assert (job.get("dataset.path"), job.get("dataset.config"), job.get("dataset.split")) == (
        "org/data",
        "main",
        "train",
    )
    assert job.get("environment.variables.WANDB_PROJECT") == "x"
    assert job.get("trainer.args") == CallResult("trl.SFTConfig", "train")


def test_every_call_of_a_library_is_there_in_the_order_of_the_source() -> None:
    assert [(call.path, call.label, call.key) for call in read(JOB).calls] == [
        ("transformers.AutoModelForCausalLM.from_pretrained", "AutoModelForCausalLM.from_pretrained", "model"),
        ("transformers.BitsAndBytesConfig", "BitsAndBytesConfig", "quantization"),
        ("datasets.load_dataset", "load_dataset", "dataset"),
        ("datasets.load_dataset().map", "load_dataset().map", "calls.3"),
        ("trl.SFTConfig", "SFTConfig", "train"),
        ("trl.SFTTrainer", "SFTTrainer", "trainer"),
        ("peft.LoraConfig", "LoraConfig", "peft"),
        ("trl.SFTTrainer.train", "trainer.train", "calls.7"),
    ]


def test_each_argument_has_the_places_of_its_name_and_of_its_value() -> None:
    job = read(JOB)
    assert written_at(JOB, job.key_places["train", "max_length"]) == "max_length"
    assert written_at(JOB, job.places["train", "max_length"]) == "512"
    assert written_at(JOB, job.key_places["calls", 7, "resume_from_checkpoint"]) == "resume_from_checkpoint"
    assert job.get("calls.7.resume_from_checkpoint") is True


def test_columns_count_characters_not_bytes() -> None:
    text = 'from trl import SFTConfig\né = "ü"; SFTConfig(run_name="ß", seed=1)\n'
    job = read(text)
    assert written_at(text, job.key_places["calls", 0, "seed"]) == "seed"
    assert written_at(text, calls_of(job, "trl.SFTConfig")[0].place) == 'SFTConfig(run_name="ß", seed=1)'


def test_a_document_for_each_trainer_with_its_own_config() -> None:
    documents = read_script(
        "from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer\n"
        "a = SFTTrainer('m', args=SFTConfig(seed=1))\nb = DPOTrainer('m', args=DPOConfig(seed=2))\n",
        "train.py",
    )
    assert [(each.get("method"), each.get("train.seed")) for each in documents] == [("sft", 1), ("dpo", 2)]
    assert all(len(each.calls) == 4 for each in documents)


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import trl", "trl.SFTConfig"),
        ("import trl as t", "t.SFTConfig"),
        ("from trl import SFTConfig as C", "C"),
        ("from trl import *", "SFTConfig"),
        ("from trl import *\nfrom peft import *\nfrom math import *", "SFTConfig"),
        ("from my_package import *\nfrom transformers import *\nfrom trl import *\nfrom peft import *", "SFTConfig"),
        ("import importlib\ntrl = importlib.import_module('trl')", "trl.SFTConfig"),
    ],
)
def test_a_librarys_class_is_known_by_any_name_it_is_imported_under(imports: str, name: str) -> None:
    (call,) = calls_of(read(f"{imports}\n{name}(seed=1)\n"), "trl.SFTConfig")
    assert (call.label, call.arguments) == (name, {"seed": 1})


@pytest.mark.parametrize(
    "text",
    [
        "class SFTConfig: pass\nSFTConfig(seed=1)",
        "def SFTConfig(**_): pass\nSFTConfig(seed=1)",
        "from my_package import SFTConfig\nSFTConfig(seed=1)",
        "from .configs import SFTConfig\nSFTConfig(seed=1)",
        "from trl import SFTConfig\nfrom .configs import SFTConfig\nSFTConfig(seed=1)",
        "from trl import SFTConfig\nSFTConfig = make()\nSFTConfig(seed=1)",
        "from trl import *\nfrom .configs import *\nSFTConfig(seed=1)",
        "from trl import *\nfrom my_package import *\nSFTConfig(seed=1)",
        "from math import *\nfrom peft import *\nSFTConfig(seed=1)",
        "from trl import SFTConfig\ndef f(SFTConfig): SFTConfig(seed=1)",
    ],
)
def test_another_class_of_the_same_name_is_not_the_librarys(text: str) -> None:
    assert not calls_of(read(text), "trl.SFTConfig")


def test_imports_are_listed_with_what_they_bind() -> None:
    job = read("import trl.trainer as t\nfrom peft import LoraConfig as L, PeftModel\ndef f():\n    import os.path\n")
    assert [(each.module, each.name, each.bound) for each in job.imports] == [
        ("trl.trainer", None, "t"),
        ("peft", "LoraConfig", "L"),
        ("peft", "PeftModel", "PeftModel"),
        ("os.path", None, "os"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LR = 1e-4\nSFTConfig(x=LR)", 1e-4),
        ("LR = 1\nLR = 2\nSFTConfig(x=LR)", 2),
        ("N = 4\nSFTConfig(x=f'out-{N * 2}')", "out-8"),
        ("SFTConfig(x=-1 if True else 2)", -1),
        ("a = [1]\na.append(2)\nSFTConfig(x=a)", [1, 2]),
        ("a = {'y': 1}\na['z'] = 2\nSFTConfig(x=a)", {"y": 1, "z": 2}),
        ("class C:\n    lr = 3\nSFTConfig(x=C.lr)", 3),
        ("def f():\n    return 5\nSFTConfig(x=f())", 5),
        ("def f(a, b=2, *, c=3):\n    SFTConfig(x=[a, b, c])\nf(1, c=4)", [1, 2, 4]),
        ("def f(lr):\n    return SFTConfig(x=lr)\ndef main():\n    f(7)\nif __name__ == '__main__':\n    main()", 7),
        ("x, (y, z) = 1, (2, 3)\nSFTConfig(x=z)", 3),
        ("n = 1\nn += 2\nSFTConfig(x=n)", 3),
        ("if (n := 4) > 3:\n    SFTConfig(x=n)", 4),
        ("import os\nSFTConfig(x=os.path.join('a', 'b'))", "a/b"),
        (
            "from dataclasses import dataclass\n@dataclass\nclass A:\n    lr: float = 2.0\na = A()\nSFTConfig(x=a.lr)",
            2.0,
        ),
        (
            "class A:\n    def __init__(self, n):\n        self.n = n\n    def go(self):\n        SFTConfig(x=self.n)\nA(6).go()",
            6,
        ),
        ("a = SFTConfig.__name__\nd = dict(lr=1)\nSFTConfig(x=d.get('lr'))", 1),
        ("def f(n):\n    global G\n    G = n\nf(3)\nSFTConfig(x=G)", 3),
        ("import torch\nSFTConfig(x=torch.bfloat16)", LibraryName("torch.bfloat16")),
        ("def f(a, *, b, c=1): ...\nSFTConfig(x=f)", LocalName("f", "function", ("a", "b", "c"), required=("a", "b"))),
        ("class Hook: ...\nSFTConfig(x=Hook)", LocalName("Hook", "class")),
        (
            "def f(a):\n    b = []\n    for c in a:\n        b.append(c)\n    return b\nSFTConfig(x=f)",
            LocalName("f", "function", ("a",), returns="list", required=("a",)),
        ),
        (
            "SFTConfig(x=lambda a: {'text': a})",
            LocalName(
                "<lambda>",
                "function",
                ("a",),
                returns="dict",
                keys=("text",),
                types={"text": Scalar("other")},
                required=("a",),
            ),
        ),
        (
            "def f(a):\n    b = []\n    b = a\n    return b\nSFTConfig(x=f)",
            LocalName("f", "function", ("a",), required=("a",)),
        ),
        (
            "def f(a):\n    if a:\n        return [a]\n    return a\nSFTConfig(x=f)",
            LocalName("f", "function", ("a",), required=("a",)),
        ),
        ("def f(a):\n    yield a\n    return []\nSFTConfig(x=f)", LocalName("f", "function", ("a",), required=("a",))),
    ],
)
def test_a_value_that_the_text_decides_is_known(text: str, expected: object) -> None:
    assert config(text).arguments["x"] == expected


@pytest.mark.parametrize(
    "text",
    [
        "n = 1\nif cond():\n    n = 2\nSFTConfig(x=n)",
        "for n in (1, 2):\n    SFTConfig(x=n)",
        "n = 1\nfor _ in range(3):\n    SFTConfig(x=n)\n    n = 2",
        "n = 1\nwhile go():\n    n = 2\nSFTConfig(x=n)",
        "try:\n    n = f()\nexcept ValueError:\n    n = 2\nSFTConfig(x=n)",
        "def f(n):\n    SFTConfig(x=n)\nf(1)\nf(2)",
        "def f(n=1):\n    SFTConfig(x=n)",
        "@click.command()\ndef f(n=1):\n    SFTConfig(x=n)\nf()",
        "import os\nSFTConfig(x=os.environ.get('LR', 1))",
        "import os\nSFTConfig(x=int(os.environ['LR']))",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', default=1)\nSFTConfig(x=p.parse_args().lr)",
        "d = {'a': 1}\nchange(d)\nSFTConfig(x=d)",
        "d = {'a': 1}\nd[key()] = 2\nSFTConfig(x=d)",
        "d = {'a': 1}\nif cond():\n    d['a'] = 2\nSFTConfig(x=d['a'])",
        "a = [1]\nif cond():\n    a.append(2)\nSFTConfig(x=a)",
        "match cond():\n    case 1:\n        n = 1\n    case n:\n        pass\nSFTConfig(x=n)",
    ],
)
def test_a_value_that_the_text_does_not_decide_is_unknown(text: str) -> None:
    assert isinstance(config(text).arguments["x"], Unknown)


@pytest.mark.parametrize(
    ("text", "arguments", "is_open"),
    [
        ("d = {'a': 1}\nSFTConfig(**d)", {"a": 1}, False),
        ("d = dict(a=1)\nd['b'] = 2\nSFTConfig(**d)", {"a": 1, "b": 2}, False),
        ("d = {'a': 1}\nd.update(b=2)\nd.update({'c': 3})\nSFTConfig(**d)", {"a": 1, "b": 2, "c": 3}, False),
        ("a = {'a': 1}\nb = {'b': 2}\nSFTConfig(**{**a, **b}, c=3)", {"a": 1, "b": 2, "c": 3}, False),
        ("a = {'a': 1}\nSFTConfig(**(a | {'b': 2}))", {"a": 1, "b": 2}, False),
        ("d = {'a': 1, 'b': 2}\nd.pop('b')\nSFTConfig(**d)", {"a": 1}, False),
        ("d = {'a': 1, 'b': 2}\ndel d['b']\nSFTConfig(**d)", {"a": 1}, False),
        ("d = {'a': 1}\nif cond():\n    d['b'] = 2\nSFTConfig(**d)", {"a": 1}, True),
        ("d = {'a': 1}\nif cond():\n    d.pop('a')\nSFTConfig(**d)", {}, True),
        ("d = load()\nSFTConfig(a=1, **d)", {"a": 1}, True),
        ("d = {'a': 1}\nd = {k: v for k, v in d.items() if k in names}\nSFTConfig(**d)", {}, True),
        ("def f(**kw):\n    SFTConfig(a=1, **kw)\nf(b=2)", {"a": 1, "b": 2}, False),
        ("def f(**kw):\n    SFTConfig(a=1, **kw)", {"a": 1}, True),
        ("def f(kw):\n    kw['b'] = 2\nd = {'a': 1}\nf(d)\nSFTConfig(**d)", {"a": 1, "b": 2}, False),
    ],
)
def test_a_dict_that_is_handed_over_is_followed(text: str, arguments: dict[str, Any], is_open: bool) -> None:
    call = config(text)
    assert (call.arguments, call.open) == (arguments, is_open)


def test_an_entry_of_a_dict_keeps_its_own_place() -> None:
    text = "from trl import SFTConfig\nd = {'a': 1}\nd['bb'] = 22\nSFTConfig(**d)\n"
    job = read(text)
    assert written_at(text, job.key_places["calls", 0, "a"]) == "'a'"
    assert written_at(text, job.key_places["calls", 0, "bb"]) == "'bb'"
    assert written_at(text, job.places["calls", 0, "bb"]) == "22"


def test_settings_that_cannot_be_seen_are_unknown_in_the_job() -> None:
    job = read("from trl import SFTConfig, SFTTrainer\nSFTTrainer('m', args=SFTConfig(seed=1, **load()))\n")
    assert job.get("train.seed") == 1
    assert isinstance(job.get("train.eval_strategy"), Unknown)


@pytest.mark.parametrize("args", ["args=load()", "**settings", "*settings", "args=config if c() else other"])
def test_a_config_that_cannot_be_seen_is_unknown(args: str) -> None:
    assert isinstance(read(f"from trl import SFTTrainer\nSFTTrainer('m', {args})\n").get("train"), Unknown)


def test_a_trainer_without_a_config_has_none() -> None:
    assert "train" not in read("from trl import SFTTrainer\nSFTTrainer('m', train_dataset=1)\n").values


@pytest.mark.parametrize(
    "change",
    [
        "args.seed = 5",
        "setattr(args, 'seed', 5)",
        "def f(a):\n    a.seed = 5\nf(args)",
        "if cond():\n    args.seed = 5",
        "for name in names:\n    setattr(args, name, 5)",
    ],
)
def test_what_is_set_on_a_config_later_is_unknown_in_the_job(change: str) -> None:
    job = read(
        "from trl import SFTConfig, SFTTrainer\nargs = SFTConfig(seed=1, max_length=2)\n"
        f"{change}\nSFTTrainer('m', args=args)\n"
    )
    assert isinstance(job.get("train.seed"), Unknown)
    assert calls_of(job, "trl.SFTConfig")[0].arguments["seed"] == 1


def test_replace_makes_another_config_of_which_some_is_seen() -> None:
    job = read(
        "import dataclasses\nfrom trl import SFTConfig, SFTTrainer\n"
        "args = SFTConfig(seed=1)\nSFTTrainer('m', args=dataclasses.replace(args, seed=2))\n"
    )
    assert job.get("train.seed") == 2
    assert isinstance(job.get("train.max_length"), Unknown)


def test_a_partial_gives_only_some_arguments_until_it_is_called() -> None:
    alone = config("import functools\nf = functools.partial(SFTConfig, seed=1)\n")
    assert (alone.via, alone.arguments) == ("partial", {"seed": 1})
    called = config("import functools\nf = functools.partial(SFTConfig, seed=1)\nf(max_length=2)\n")
    assert (called.via, called.arguments) == ("call", {"seed": 1, "max_length": 2})


def test_a_dataclass_that_extends_a_config_adds_its_fields() -> None:
    call = config(
        "from dataclasses import dataclass\n@dataclass\nclass My(SFTConfig):\n    extra: int = 1\nMy(seed=1, extra=2)"
    )
    assert (call.label, call.own, call.arguments) == ("My", frozenset({"extra"}), {"seed": 1, "extra": 2})


def test_a_subclass_with_its_own_init_answers_for_what_it_hands_on() -> None:
    text = "class My(SFTTrainer):\n    def __init__(self, extra, **kw):\n        super().__init__(model='m', **kw)\nMy(1, args=2)"
    (call,) = calls_of(read(f"from trl import SFTTrainer\n{text}\n"), "trl.SFTTrainer")
    assert (call.via, call.arguments) == ("super", {"model": "m", "args": 2})
    closed = text.replace("extra, **kw", "extra, args").replace(", **kw", "")
    (call,) = calls_of(read(f"from trl import SFTTrainer\n{closed}\n"), "trl.SFTTrainer")
    assert call.arguments == {"model": "m"}


@pytest.mark.parametrize(
    "text",
    [
        "class My(SFTConfig, Other()):\n    pass\nMy(seed=1)",
        "@wrap\nclass My(SFTConfig):\n    pass\nMy(seed=1)",
        "class My(SFTConfig, metaclass=Other):\n    pass\nMy(seed=1)",
        "class My(SFTConfig):\n    def __new__(cls, **kw):\n        return None\nMy(seed=1)",
    ],
)
def test_a_subclass_that_is_not_understood_is_not_the_librarys(text: str) -> None:
    assert not calls_of(read(f"from trl import SFTConfig\n{text}\n"), "trl.SFTConfig")


def test_a_method_that_a_subclass_defines_is_its_own() -> None:
    job = read(
        "from trl import SFTTrainer\nclass My(SFTTrainer):\n    def train(self): ...\n"
        "t = My('m')\nt.train()\nt.save_model('x')\n"
    )
    assert [call.path for call in job.calls] == ["trl.SFTTrainer", "trl.SFTTrainer.save_model"]


ARGPARSE = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=1e-4)
args = p.parse_args()
SFTConfig(x=args.lr)
"""


@pytest.mark.parametrize(
    ("argv", "expected"), [((), 1e-4), (("--lr", "3"), 3.0), (("--lr=2",), 2.0), (("--l", "2"), 2.0)]
)
def test_an_option_has_its_default_only_where_the_command_line_is_known(argv: tuple[str, ...], expected: float) -> None:
    assert config(ARGPARSE, argv=argv).arguments["x"] == expected
    assert config(ARGPARSE).arguments["x"] == Unknown("it comes from the command line")
    assert config(ARGPARSE.replace("parse_args()", f"parse_args({list(argv)})")).arguments["x"] == expected


PARSER = """
from dataclasses import dataclass
from transformers import HfArgumentParser
from trl import ModelConfig
@dataclass
class Script:
    dataset_name: str = "x"
script, args, model = HfArgumentParser((Script, SFTConfig, ModelConfig)).parse_args_into_dataclasses()
SFTTrainer("m", args=args)
"""


def test_what_a_parser_makes_is_made_of_the_dataclass() -> None:
    call = config(PARSER)
    assert (call.via, call.key, call.open, call.arguments) == ("parser", "train", True, {})


def test_what_a_parser_makes_has_the_arguments_of_the_command_line() -> None:
    argv = ["--dataset_name", "d", "--learning_rate", "2e-5", "--bf16", "--lora_r=8", "--report_to", "wandb", "trackio"]
    job = read(f"from trl import SFTConfig, SFTTrainer\n{PARSER}", argv=argv)
    (call,) = calls_of(job, "trl.SFTConfig")
    assert (call.open, call.arguments) == (
        False,
        {"learning_rate": "2e-5", "bf16": True, "report_to": ["wandb", "trackio"]},
    )
    (model,) = calls_of(job, "trl.ModelConfig")
    assert model.arguments == {"lora_r": "8"}


def siblings(**texts: str) -> Beside:
    return lambda module: texts.get(module.replace(".", "_"))


def test_what_a_file_beside_the_script_builds_counts() -> None:
    beside = siblings(config="from trl import SFTConfig\nLR = 2\ndef make(n):\n    return SFTConfig(seed=n)\n")
    job = read(
        "from trl import SFTTrainer\nimport config\nfrom config import make\nSFTTrainer(str(config.LR), args=make(3))\n",
        beside=beside,
    )
    assert (job.get("train.seed"), job.get("model.path")) == (3, "2")
    assert calls_of(job, "trl.SFTConfig")[0].place.path == "config.py"


def test_files_that_import_one_another_are_read_once() -> None:
    beside = siblings(a="from b import X\nY = 1\n", b="from a import Y\nX = 2\n")
    assert config("from a import Y\nfrom b import X\nSFTConfig(x=[X, Y])", beside=beside).arguments["x"] == [2, 1]


def test_a_file_beside_the_script_may_shadow_a_library() -> None:
    job = read("from trl import SFTConfig\nSFTConfig(seed=1)\n", beside=siblings(trl="class SFTConfig: pass\n"))
    assert not calls_of(job, "trl.SFTConfig")


def test_a_file_beside_the_script_that_is_no_python_is_unknown() -> None:
    assert isinstance(
        config("from a import Y\nSFTConfig(x=Y)", beside=siblings(a="x = (")).arguments["x"], Unknown | LibraryName
    )


def test_the_header_is_told_with_the_place_of_each_requirement() -> None:
    text = '# /// script\r\n# requires-python = ">=3.11"\r\n# dependencies = [\r\n#   "trl>=1",  # x\r\n#   \'peft\']\r\n# ///\r\n'
    job = read_script(text, "train.py")[0]
    assert job.get("environment.requirements") == ["trl>=1", "peft"]
    assert job.get("environment.python") == ">=3.11"
    assert written_at(text, job.places["environment", "requirements", 1]) == "'peft'"
    assert written_at(text, job.places["environment", "python"]) == '">=3.11"'


def test_a_broken_header_is_unknown() -> None:
    job = read("# /// script\n# dependencies = [\n# ///\nimport trl\n")
    assert isinstance(job.get("environment.requirements"), Unknown)
    assert job.imports


@pytest.mark.parametrize(
    ("trainer", "hidden"),
    [
        ("SFTTrainer(load())", ["model.path", "model.device_map", "peft.r", "quantization.load_in_4bit"]),
        ("SFTTrainer('m', **more)", ["train.seed", "trainer.eval_dataset", "peft.r", "dataset.streaming"]),
        ("SFTTrainer('m', train_dataset=load())", ["dataset.path", "dataset.streaming"]),
        ("SFTTrainer('m', peft_config=load())", ["peft.r"]),
    ],
)
def test_what_a_trainer_is_given_unseen_is_unknown(trainer: str, hidden: list[str]) -> None:
    job = read(f"from trl import SFTTrainer\n{trainer}\n")
    assert [key for key in hidden if not isinstance(job.get(key), Unknown)] == []


@pytest.mark.parametrize(
    ("args", "dtype"),
    [
        ("SFTConfig(model_init_kwargs={'torch_dtype': 'bfloat16'})", "bfloat16"),
        ("SFTConfig(model_init_kwargs=load())", None),
        ("SFTConfig(**load())", None),
        ("load()", None),
    ],
)
def test_a_model_that_the_trainer_loads_is_told_by_its_config(args: str, dtype: str | None) -> None:
    job = read(f"from trl import SFTConfig, SFTTrainer\nSFTTrainer('m', args={args})\n")
    assert job.get("model.path") == "m"
    found = job.get("model.dtype")
    assert found == dtype if dtype else isinstance(found, Unknown)


def test_a_model_of_which_all_is_seen_has_no_more() -> None:
    job = read("from trl import SFTConfig, SFTTrainer\nSFTTrainer('m', args=SFTConfig(seed=1))\n")
    assert job.get("model") == {"path": "m"}


def test_a_file_with_very_many_trainers_is_told_in_few_documents() -> None:
    documents = read_script("from trl import SFTTrainer\n" + "SFTTrainer('m')\n" * 100, "test.py")
    assert len(documents) == 12
    assert len(documents[0].calls) == 100


def test_what_another_method_sets_is_not_what_the_constructor_left() -> None:
    """Which method ran before, nobody knows."""
    document = read(
        """
        from trl import DPOTrainer

        class Pipeline:
            def __init__(self):
                self.rows, self.seed = None, 1
            def make(self):
                return DPOTrainer("m", train_dataset=self.rows, seed=self.seed)
            def load(self):
                self.rows = elsewhere()

        Pipeline()
        """
    )
    (call,) = calls_of(document, "trl.DPOTrainer")

    assert isinstance(call.arguments["train_dataset"], Unknown)
    assert call.arguments["seed"] == 1


@pytest.mark.parametrize(
    "given", ['"runs/one"', 'output_dir="runs/one"', "FOLDER", "FOLDER, **more", "output_dir=FOLDER"]
)
def test_the_output_folder_is_the_first_argument_of_a_config(given: str) -> None:
    """It is mostly given by position."""
    source = f"""from trl import SFTConfig, SFTTrainer
FOLDER = "runs/one"
more = {{"seed": 3}}
SFTTrainer("acme/chat", args=SFTConfig({given}), train_dataset=rows)
"""
    assert read_script(source, "train.py")[0].get("train.output_dir") == "runs/one"
