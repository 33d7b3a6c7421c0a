"""A job file that breaks its schema is told all its mistakes at once: those of the schema, and those that rules find in the rest."""

from pathlib import Path

import pytest

import holdfast
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.errors import GroupedError, flatten
from holdfast.core.valid_job import valid_part

LEAST = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n"


def mistakes(folder: Path, text: str) -> list[str]:
    path = folder / "job.yaml"
    path.write_text(text)
    with pytest.raises(GroupedError) as raised:
        holdfast.check(path, offline=True)
    return [error.as_json()["what"] for error in flatten(raised.value)]


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ("lora: {}\ntrain: {learnin_rate: 1.0e-5}\n", "unknown key `lora`"),
        ("seed: x\ntrain: {learnin_rate: 1.0e-5}\n", "`seed` is the text 'x': it should be a whole number"),
        ("where: {gpus: 2}\ntrain: {learnin_rate: 1.0e-5}\n", "unknown key `where.gpus`"),
    ],
)
def test_a_misspelt_argument_is_reported_beside_a_broken_key(tmp_path: Path, more: str, first: str) -> None:
    found = mistakes(tmp_path, LEAST + more)
    assert found[0] == first
    assert [what.partition(" ")[0] for what in found[1:]] == ["ARG106"]


def test_every_argument_that_a_rule_objects_to_is_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = f'{LEAST}epochs: 3\ntrain:\n  num_train_epochs: "three"\n  learnin_rate: 1.0e-5\n'
    assert [what.partition(" ")[0] for what in mistakes(tmp_path, text)] == ["unknown", "ARG102", "ARG106"]


def test_several_files_report_the_same_with_the_rules_code(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(f"{LEAST}lora: {{}}\ntrain: {{learnin_rate: 1.0e-5}}\n")
    (tmp_path / "good.yaml").write_text(LEAST)
    found = holdfast.check([tmp_path / "broken.yaml", tmp_path / "good.yaml"], offline=True)
    assert [finding["code"] for finding in found["targets"][0]["findings"]] == ["SYN001", "ARG106"]


@pytest.mark.parametrize(
    "more",
    [
        "quantisation: {load_in_4bit: true}\n",
        "quantization: yes\n",
        "train: {push_to_hub_model_id: 3}\nmax_length: 64\n",
        "output: {push: me/x}\n",
    ],
)
def test_nothing_is_concluded_from_a_key_that_a_broken_one_may_stand_for(tmp_path: Path, more: str) -> None:
    assert not [what for what in mistakes(tmp_path, LEAST + more) if what.startswith(("MOD", "CMB", "DAT", "EVL"))]


def test_a_broken_dataset_is_not_looked_up(tmp_path: Path) -> None:
    text = "method: sft\nmodel: builtin:tiny-chat\ndataset: {path: none.jsonl, splt: train}\ntrain: {learnin_rate: 1.0e-5}\n"
    assert [what.partition(" ")[0] for what in mistakes(tmp_path, text)] == ["unknown", "ARG106"]


@pytest.mark.parametrize("text", [LEAST, "method: sftt\nmodel: m\ndataset: d\n", "method: sft\nmodel: m\n"])
def test_a_good_job_and_one_without_its_required_keys_have_no_valid_part(text: str) -> None:
    assert valid_part(JobFileReader().read(text, "job.yaml")) is None
