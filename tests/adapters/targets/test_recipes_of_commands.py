"""A command of axolotl or LLaMA-Factory is checked by the recipe that it names."""

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import UsageError

AXOLOTL = "base_model: Qwen/Qwen2.5-0.5B\ndatasets:\n  - path: trl-lib/Capybara\nlearning_rate: 2.0\n"
FACTORY = "stage: sft\nmodel_name_or_path: Qwen/Qwen2.5-0.5B\noutput_dir: out\nlearning_rate: 2.0\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a recipe of each."""
    (tmp_path / "axolotl.yaml").write_text(AXOLOTL)
    (tmp_path / "factory.yaml").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)


def target(line: str) -> dict[str, Any]:
    """Return what is found of a shell script with one command."""
    Path("run.sh").write_text(f"{line}\n")
    answer: dict[str, Any] = holdfast.check("run.sh", offline=True, select="CMB106")["targets"][0]
    return answer


@pytest.mark.parametrize(
    ("line", "recipe"),
    [
        ("axolotl train axolotl.yaml", "axolotl.yaml"),
        ("accelerate launch -m axolotl.cli.train axolotl.yaml --seed 1", "axolotl.yaml"),
        ("CUDA_VISIBLE_DEVICES=0 python -m axolotl.cli.train axolotl.yaml", "axolotl.yaml"),
        ("llamafactory-cli train factory.yaml", "factory.yaml"),
        ("FORCE_TORCHRUN=1 llamafactory-cli train factory.yaml output_dir=there", "factory.yaml"),
    ],
)
def test_the_findings_are_those_of_the_recipe(line: str, recipe: str) -> None:
    """At the line of the recipe."""
    (finding,) = target(line)["findings"]
    assert (finding["path"], finding["line"]) == (recipe, 4)


@pytest.mark.parametrize(
    "line",
    [
        "axolotl train axolotl.yaml --learning-rate 1e-5",
        "axolotl train axolotl.yaml --learning_rate=1e-5",
        "llamafactory-cli train factory.yaml learning_rate=1e-5",
        "llamafactory-cli train factory.yaml $MORE",
    ],
)
def test_what_the_command_gives_instead_is_a_skip(line: str) -> None:
    """The recipe's value has no effect then."""
    answer = target(line)
    assert answer["findings"] == []
    assert "another value" in answer["skipped"][0]["because"]


def test_a_recipe_that_is_not_there_is_named() -> None:
    """With the one that was meant."""
    with pytest.raises(UsageError, match=r"no such file: axolot\.yaml"):
        target("axolotl train axolot.yaml")


def test_other_commands_are_no_training() -> None:
    """`axolotl preprocess` trains nothing."""
    with pytest.raises(UsageError, match="runs no training"):
        target("axolotl preprocess axolotl.yaml")
