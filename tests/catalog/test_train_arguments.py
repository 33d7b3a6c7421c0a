"""What jobs may say under `train` is what the installed libraries take."""

import json
import subprocess
import sys
from typing import Any

import pytest

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import CLASSES, arguments, arguments_of, setting, stack_api, versions
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.api import REQUIRED, Parameter
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.text.places import Place
from tests.helpers import introspected
from tests.helpers.tiny import quiet_environment

HERE = Place("train.py", 1, 1)
COMPUTED = {"log_level", "log_level_replica"}
"""Their choices are the keys of a dict of another module."""


@pytest.mark.long
@pytest.mark.train
def test_history_is_what_the_libraries_take() -> None:
    """Every argument of every config class, with types, default and choices, at the versions that are installed."""
    program = [sys.executable, introspected.__file__, *CLASSES.values()]
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=quiet_environment())
    told = json.loads(done.stdout)
    api = Api(told["versions"])

    assert api.versions == told["versions"]
    for part, path in CLASSES.items():
        found = arguments(part, api)
        assert set(found) == set(told["found"][path]), path
        for name, each in told["found"][path].items():
            apart = differences(name, found[name], each)
            assert apart <= (set() if path.startswith("trl.") else {"choices", "enforced"}), f"{path}({name}): {apart}"


def differences(name: str, parameter: Parameter, told: dict[str, Any]) -> set[str]:
    """Return what the history says otherwise than the library; what it does not say is no difference."""
    default = told["default"]
    known = not isinstance(parameter.default, Unknown) and default != "?" and parameter.default is not REQUIRED
    apart = {
        "default": known and parameter.default != default,
        "types": bool(parameter.types) and set(told.get("types", parameter.types)) != parameter.types,
        "choices": name not in COMPUTED and set(parameter.choices) != set(told.get("choices", ())),
        "enforced": parameter.enforced != told.get("enforced", False),
    }
    return {what for what, differs in apart.items() if differs}


def test_setting_is_what_the_job_says_else_the_default() -> None:
    """A job's own value wins, `null` too; then the default of its method; a method nobody knows has none."""
    job = Document(path="j", kind="job", values={"method": "kto", "train": {"seed": 7, "max_length": None}})

    assert setting(job, "seed") == 7
    assert setting(job, "max_length") is None
    assert setting(job, "train_sampling_strategy") == "sequential"
    assert setting(job, "packing") is ABSENT
    assert setting(Document(path="j", kind="job", values={"method": "ppo"}), "seed") is ABSENT


def test_setting_is_that_of_the_versions_at_hand() -> None:
    """The same config class has other defaults in other releases."""
    job = Document(path="j", kind="script", values={"method": "sft", "train": {}})
    old = Api({"trl": "0.12.2", "transformers": "4.46.3"})

    assert setting(job, "save_steps", old) == 500
    assert (setting(job, "packing", old), setting(job, "dataset_text_field", old)) == (False, "text")
    assert setting(job, "max_seq_length", old) is None
    assert setting(job, "max_seq_length", stack_api()) is ABSENT


def test_arguments_are_those_of_the_class_that_the_program_calls() -> None:
    """A trainer may be given plain TrainingArguments, which know nothing of its own settings."""
    call = Call(
        path="transformers.TrainingArguments", label="TrainingArguments", key="train", place=HERE, name_place=HERE
    )
    job = Document(path="j", kind="script", values={"method": "sft", "train": {}}, calls=(call,))

    assert "max_length" in arguments_of(Document(path="j", kind="job", values={"method": "sft"}), api=None)
    assert "max_length" not in arguments_of(job, stack_api())
    assert "seed" in arguments_of(job, stack_api())


def test_a_default_that_is_no_plain_value_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that asks for such a default is skipped."""
    hidden = {"seed": Parameter(name="seed", default=Unknown("it is computed"))}
    monkeypatch.setattr("holdfast.catalog.calls.train_arguments.arguments_of", lambda *_: hidden)

    with pytest.raises(MissingFactError, match="it is computed"):
        setting(Document(path="j", kind="job", values={}), "seed")


def test_parts_that_nobody_knows_are_empty() -> None:
    """A method that does not exist takes nothing, and is no error."""
    assert arguments("ppo") == {}
    assert arguments("ABSENT") == {}


def test_versions_are_those_that_job_files_get() -> None:
    """With the date of what is known of them."""
    assert versions()["trl"] == stack_api().versions["trl"]
    assert versions()["date"]
