"""What keeps a line of a script from failing, or from being reached: then nothing may be said of it."""

from collections.abc import Sequence
from textwrap import dedent

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Unknown

START = "import dataclasses, inspect, sys, trl\nfrom packaging import version\nfrom trl import SFTConfig, SFTTrainer\n"


def read(text: str) -> Document:
    return read_script(START + dedent(text), "train.py")[0]


def configs(text: str) -> Sequence[Call]:
    return [call for call in read(text).calls if call.path == "trl.SFTConfig"]


NEW = "version.parse(trl.__version__) >= version.parse('0.20')"


@pytest.mark.parametrize(
    "text",
    [
        f"if {NEW}:\n    SFTConfig(max_length=1)",
        f"if {NEW}:\n    pass\nelse:\n    SFTConfig(max_length=1)",
        f"NEW = {NEW}\nif NEW:\n    SFTConfig(max_length=1)",
        f"NEW = {NEW}\nif NEW and ready():\n    SFTConfig(max_length=1)",
        f"def is_new():\n    return {NEW}\nif is_new():\n    SFTConfig(max_length=1)",
        "if tuple(map(int, trl.__version__.split('.')[:2])) >= (0, 20):\n    SFTConfig(max_length=1)",
        "from importlib.metadata import version as v\nif v('trl') > '0.2':\n    SFTConfig(max_length=1)",
        "if 'max_length' in inspect.signature(SFTConfig).parameters:\n    SFTConfig(max_length=1)",
        "p = inspect.signature(SFTConfig.__init__).parameters\nif 'max_length' in p:\n    SFTConfig(max_length=1)",
        "names = {f.name for f in dataclasses.fields(SFTConfig)}\nif 'max_length' in names:\n    SFTConfig(max_length=1)",
        "if hasattr(SFTConfig, 'max_length'):\n    SFTConfig(max_length=1)",
        "if 'max_length' in SFTConfig.__dataclass_fields__:\n    SFTConfig(max_length=1)",
        "if 'max_length' in SFTConfig.__init__.__code__.co_varnames:\n    SFTConfig(max_length=1)",
        "from transformers.utils import is_peft_available\nif is_peft_available():\n    SFTConfig(max_length=1)",
        "import importlib.util\nif importlib.util.find_spec('vllm') is not None:\n    SFTConfig(max_length=1)",
        "from compat import HAS_NEW_TRL\nif HAS_NEW_TRL:\n    SFTConfig(max_length=1)",
        "from compat import TRL_VERSION\nif TRL_VERSION > (0, 2):\n    SFTConfig(max_length=1)",
        "try:\n    import vllm\n    OK = True\nexcept ImportError:\n    OK = False\nif OK:\n    SFTConfig(max_length=1)",
        f"c = SFTConfig(max_length=1) if {NEW} else SFTConfig(max_seq_length=1)",
        f"c = {NEW} and SFTConfig(max_length=1)",
        f"def make():\n    if {NEW}:\n        return None\n    return SFTConfig(max_length=1)\nmake()",
        f"if {NEW}:\n    raise RuntimeError\nSFTConfig(max_length=1)",
        f"if not {NEW}:\n    sys.exit(1)\nSFTConfig(max_length=1)",
        f"assert {NEW}\nSFTConfig(max_length=1)",
        f"def check():\n    if {NEW}:\n        raise RuntimeError\ndef main():\n    check()\n    SFTConfig(max_length=1)\nmain()",
        f"if {NEW}:\n    def make():\n        return SFTConfig(max_length=1)\n",
        f"def make():\n    return SFTConfig(max_length=1)\nif {NEW}:\n    make()",
        f"for _ in '1':\n    if {NEW}:\n        continue\n    SFTConfig(max_length=1)",
    ],
)
def test_a_branch_on_what_is_installed_is_guarded(text: str) -> None:
    calls = configs(text)
    assert calls
    assert all(call.guard.because for call in calls)


@pytest.mark.parametrize(
    "text",
    [
        "if False:\n    SFTConfig(max_length=1)",
        "DEBUG = 0\nif DEBUG:\n    SFTConfig(max_length=1)",
        "if True:\n    pass\nelse:\n    SFTConfig(max_length=1)",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    SFTConfig(max_length=1)",
        "def f():\n    return 1\n    SFTConfig(max_length=1)\nf()",
        "sys.exit()\nSFTConfig(max_length=1)",
        "c = None and SFTConfig(max_length=1)",
        "c = 1 if True else SFTConfig(max_length=1)",
    ],
)
def test_code_that_never_runs_is_guarded(text: str) -> None:
    assert [call.guard.because for call in configs(text)] == ["in code that never runs"]


@pytest.mark.parametrize(
    "text",
    [
        "SFTConfig(seed=1)",
        "if cond():\n    SFTConfig(seed=1)",
        "if __name__ == '__main__':\n    SFTConfig(seed=1)",
        "DEBUG = 1\nif DEBUG:\n    SFTConfig(seed=1)",
        "if cond():\n    raise ValueError\nSFTConfig(seed=1)",
        "if cond():\n    SFTConfig(seed=1)\nelse:\n    SFTConfig(seed=2)",
        "try:\n    SFTConfig(seed=1)\nexcept TypeError:\n    raise",
        "try:\n    SFTConfig(seed=1)\nexcept TypeError as e:\n    print(e)\n    sys.exit(1)",
        "try:\n    SFTConfig(seed=1)\nfinally:\n    print()",
        "try:\n    SFTTrainer('m', SFTConfig(seed=1)).train()\nexcept Exception as e:\n    print(e)",
        "def f():\n    try:\n        SFTTrainer('m', SFTConfig(seed=1)).train()\n    except Exception as e:\n        print(e)\n        return None\nf()",
        "from accelerate import PartialState\nif PartialState().is_main_process:\n    SFTConfig(seed=1)",
        "import torch\nif torch.cuda.is_available():\n    pass\nSFTConfig(seed=1)",
        "def unused():\n    SFTConfig(seed=1)",
        "while cond():\n    if ready():\n        break\nelse:\n    raise TimeoutError\nSFTConfig(seed=1)",
        "for x in y:\n    return_early = x\n    continue\nSFTConfig(seed=1)",
        "while True:\n    if cond():\n        break\nSFTConfig(seed=1)",
        "exec(text, {})\nSFTConfig(seed=1)",
        "with open('x') as f:\n    pass\nSFTConfig(seed=1)",
        "try:\n    x = f()\nexcept ValueError:\n    raise\nelse:\n    y = 1\nSFTConfig(seed=1)",
    ],
)
def test_code_that_has_to_work_is_not_guarded(text: str) -> None:
    calls = configs(text)
    assert calls
    assert not any(call.guard.tolerates("TypeError") for call in calls)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    c = SFTConfig(max_length=1)\nexcept TypeError:\n    c = SFTConfig(max_seq_length=1)",
        "try:\n    c = SFTConfig(max_length=1)\nexcept (ValueError, TypeError):\n    c = None",
        "try:\n    c = SFTConfig(max_length=1)\nexcept:\n    c = None",
        "import contextlib\nwith contextlib.suppress(TypeError):\n    c = SFTConfig(max_length=1)",
        "def f():\n    return SFTConfig(max_length=1)\ntry:\n    c = f()\nexcept Exception:\n    c = None",
        "import importlib\ntry:\n    SFTTrainer('m', SFTConfig(max_length=1)).train()\nexcept Exception:\n    SFTTrainer('m').train()",
    ],
)
def test_an_error_that_is_caught_is_guarded(text: str) -> None:
    assert all(call.guard.tolerates("TypeError") for call in configs(text))


def test_an_import_with_another_way_is_guarded_both_ways() -> None:
    job = read("try:\n    from trl import A\nexcept ImportError:\n    from trl.core import A\n")
    assert [each.guard.tolerates("ImportError") for each in job.imports[-2:]] == [True, True]
    only = read("try:\n    from trl import A\nexcept ImportError:\n    raise SystemExit('pip install trl')\n")
    assert not only.imports[-1].guard.tolerates("ImportError")


def test_branches_that_make_one_class_in_different_ways_are_rivals() -> None:
    texts = (
        "if flag():\n    c = SFTConfig(max_length=1)\nelse:\n    c = SFTConfig(max_seq_length=1)",
        "c = SFTConfig(max_length=1) if flag() else SFTConfig(max_seq_length=1)",
        "def f():\n    if flag():\n        return SFTConfig(max_length=1)\n    return SFTConfig(max_seq_length=1)\nf()",
    )
    for text in texts:
        assert [bool(call.guard.because) for call in configs(text)] == [True, True]


def test_a_function_that_is_called_both_ways_is_reached() -> None:
    text = f"def f():\n    return SFTConfig(seed=1)\nif {NEW}:\n    f()\n"
    assert configs(text)[0].guard.because
    assert not configs(text.replace("    f()", "    pass") + "f()\n")[0].guard.because


@pytest.mark.parametrize(
    "text",
    [
        "import unsloth",
        "def f():\n    from unsloth import FastLanguageModel",
        "try:\n    import unsloth\nexcept ImportError:\n    pass",
        "import importlib\nimportlib.import_module('unsloth')",
        "trl.SFTConfig = other",
        "SFTConfig.__init__ = other",
        "setattr(trl, 'SFTConfig', other)",
        "sys.modules['trl'] = other",
        "from patches import patch_trl\npatch_trl()",
        "from patches import monkey_patch\nmonkey_patch(SFTConfig)",
        "exec(open('x').read())",
    ],
)
def test_a_class_that_may_be_replaced_is_guarded(text: str) -> None:
    assert configs(f"{text}\nSFTConfig(seed=1)")[0].guard.because


def test_unsloth_in_a_file_beside_the_script_counts() -> None:
    texts = {"model": "from unsloth import FastLanguageModel\ndef load(): ...\n"}
    (job,) = read_script(START + "from model import load\nSFTConfig(seed=1)\n", "train.py", beside=texts.get)
    assert job.calls[-1].guard.because == "unsloth replaces TRL's classes"


def test_what_a_patcher_leaves_alone_is_not_guarded() -> None:
    job = read("import unsloth\nfrom datasets import load_dataset\nload_dataset('x')\n")
    assert not job.calls[-1].guard.because
    assert not any(each.guard.because for each in job.imports)


def test_a_job_whose_calls_are_guarded_has_no_settings() -> None:
    job = read("import axolotl\nSFTTrainer('m', args=SFTConfig(seed=1))\n")
    assert job.get("method") == "sft"
    assert isinstance(job.get("train.seed"), Unknown)


def test_unsloth_hands_on_the_settings_that_are_written_and_has_defaults_of_its_own() -> None:
    job = read("import unsloth\nSFTTrainer('m', args=SFTConfig(seed=1, optim='adamw_flash'))\n")
    assert job.get("train.seed") == 1
    for changed in ("train.optim", "train.learning_rate", "trainer.model"):
        assert job.get(changed) == Unknown("unsloth replaces TRL's classes")


@pytest.mark.parametrize("name", ["TrainingArguments", "Seq2SeqTrainingArguments", "BitsAndBytesConfig"])
def test_unsloth_leaves_the_configs_of_transformers_alone(name: str) -> None:
    job = read(f"import unsloth\nfrom transformers import {name}\n{name}()\n")
    assert not job.calls[-1].guard.because


def test_a_package_that_must_be_there_guards_nothing_after() -> None:
    text = (
        "from trl.import_utils import is_peft_available\nif not is_peft_available() and flag:\n    raise ValueError\n"
    )
    assert not configs(f"{text}SFTConfig(seed=1)")[0].guard.because
    leaving = (
        "def f():\n    if is_peft_available():\n        return SFTConfig(seed=1)\n    return SFTConfig(seed=2)\nf()\n"
    )
    assert all(call.guard.because for call in configs(f"from trl.import_utils import is_peft_available\n{leaving}"))


def test_an_argument_that_hangs_on_what_is_installed_hides_only_itself() -> None:
    job = read(
        "from trl.import_utils import is_vllm_available\nSFTTrainer('m', args=SFTConfig(seed=1, x=is_vllm_available()))\n"
    )
    assert job.get("train.seed") == 1
    assert isinstance(job.get("train.x"), Unknown)


def test_an_import_that_is_reached_in_two_ways_is_reached() -> None:
    job = read(f"def f():\n    import peft\nif {NEW}:\n    f()\nf()\n")
    assert not job.imports[-1].guard.because


def test_a_helper_that_may_import_unsloth_says_nothing_of_the_rest() -> None:
    """In one of its branches it does; the program around it has TRL's own classes, which it imported before."""
    helper = (
        "def load(fast):\n    if fast:\n        import unsloth\n        SFTTrainer('fast')\n\nload(bool(input()))\n"
    )

    job = read(f"{helper}SFTTrainer('slow')\n")
    guards = {call.positional[0]: call.guard.because for call in job.calls if call.name == "SFTTrainer"}

    assert guards == {"fast": "unsloth replaces TRL's classes", "slow": ""}


def test_a_patcher_that_is_never_imported_replaces_nothing() -> None:
    """Behind a switch that is off."""
    job = read("FAST = False\nif FAST:\n    import unsloth\nSFTTrainer('m')\n")

    assert job.calls[-1].guard.because == ""


def test_unsloth_leaves_the_dataset_alone() -> None:
    text = "import unsloth\nfrom datasets import load_dataset\nrows = load_dataset('json', data_files='x.jsonl')\n"
    job = read(f"{text}SFTTrainer('m', train_dataset=rows)\n")
    assert job.get("dataset.data_files") == "x.jsonl"
