"""The catalog of training arguments is what the installed libraries take."""

import json
import subprocess
import sys

import pytest

from holdfast.catalog.train_arguments import Argument, arguments, setting, versions
from holdfast.core.document import ABSENT, Document
from holdfast.core.job import Method
from tests.tiny import quiet_environment

PARTS = [*(method.value for method in Method), "peft", "quantization"]


@pytest.mark.train
def test_catalog_is_what_the_libraries_take() -> None:
    """Every argument of every config class, with types, default and choices, for the versions it names."""
    program = """
import json, sys
from importlib.metadata import version
from tools.train_arguments import introspect
json.dump({"found": introspect(), "versions": {name: version(name) for name in ("trl", "transformers", "peft")}}, sys.stdout)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=quiet_environment()
    )
    told = json.loads(done.stdout)

    for part in PARTS:
        found = {
            name: Argument(
                frozenset(each["types"]), each["default"], tuple(each.get("choices", ())), each.get("strict", False)
            )
            for name, each in told["found"][part].items()
        }
        assert arguments(part) == found, part
    assert told["versions"].items() <= versions().items()


def test_setting_is_what_the_job_says_else_the_default() -> None:
    """A job's own value wins, `null` too; then the default of its method; a method nobody knows has none."""
    job = Document(path="j", kind="job", values={"method": "kto", "train": {"seed": 7, "max_length": None}})

    assert setting(job, "seed") == 7
    assert setting(job, "max_length") is None
    assert setting(job, "train_sampling_strategy") == "sequential"
    assert setting(job, "packing") is ABSENT
    assert setting(Document(path="j", kind="job", values={"method": "ppo"}), "seed") is ABSENT


def test_parts_that_nobody_knows_are_empty() -> None:
    """A method that does not exist takes nothing, and is no error."""
    assert arguments("ppo") == {}
    assert arguments("ABSENT") == {}
