"""What is said of attributes of settings holds for the real classes that are installed."""

import importlib
from typing import Any

import pytest

from holdfast.catalog.api import Api, load_history, newest
from holdfast.catalog.calls.attributes import missing_attributes
from holdfast.core.job.calls import AttributeRead
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore::FutureWarning")]
SETTINGS = {
    "trl": (
        "SFTConfig",
        "DPOConfig",
        "GRPOConfig",
        "KTOConfig",
        "RewardConfig",
        "RLOOConfig",
        "ModelConfig",
        "ScriptArguments",
    ),
    "transformers": ("TrainingArguments", "Seq2SeqTrainingArguments"),
    "peft": ("LoraConfig", "AdaLoraConfig", "PromptTuningConfig"),
}
GIVEN: dict[str, dict[str, Any]] = {
    "AdaLoraConfig": {"total_step": 10},
    "PromptTuningConfig": {"num_virtual_tokens": 2},
    "ModelConfig": {},
    "LoraConfig": {},
    "ScriptArguments": {"dataset_name": "x"},
}


@pytest.mark.parametrize(
    ("package", "name"), [(package, each) for package, names in SETTINGS.items() for each in names]
)
def test_missing_attributes_are_missing(package: str, name: str) -> None:
    """No attribute that an instance has is called missing, and what is called missing raises AttributeError."""
    api, path = Api(newest()), f"{package}.{name}"
    real = getattr(importlib.import_module(package), name)
    made = real(**GIVEN.get(name, {"output_dir": "out", "use_cpu": True, "bf16": False}))
    names = {*dir(made), *names_ever(api, path), "nothing_of_the_kind"}

    said = {finding.key.rpartition(".")[2] for finding in missing_attributes(reading(path, names), api)}

    assert not {each for each in said if hasattr(made, each)}
    assert package == "peft" or said >= {"nothing_of_the_kind"}


def reading(path: str, names: set[str]) -> Document:
    """A program that reads each of some attributes."""
    reads = [
        AttributeRead(path=path, name=name, key=f"reads.{index}", place=Place("train.py", index + 1))
        for index, name in enumerate(sorted(names))
    ]
    return Document(path="train.py", kind="script", values={}, reads=tuple(reads))


def names_ever(api: Api, path: str) -> set[str]:
    """All arguments that a class or one of its bases had in any release."""
    entries = [
        history.entry(f"c {home}") for home in api.ancestors(path) if (history := load_history(home.partition(".")[0]))
    ]
    return {name for entry in entries if entry for name in entry["p"]}
