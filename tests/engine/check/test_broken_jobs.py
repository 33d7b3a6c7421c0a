"""A job file that breaks its schema is told all its mistakes at once: those of the schema, and those that rules find in the rest."""

from pathlib import Path

import pytest

import holdfast
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.errors import GroupedError, JobError, flatten
from holdfast.core.job_file.valid_job import valid_part

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


def test_a_method_in_capitals_hides_nothing_else(tmp_path: Path) -> None:
    text = LEAST.replace("sft", "SFT") + "train: {learnin_rate: 1.0e-5}\n"
    assert [what.partition(" ")[0] for what in mistakes(tmp_path, text)] == ["`method`", "ARG106"]


@pytest.mark.parametrize("method", ["metod: sft\n", "Method: sft\n", "", "method: 3\n", "method: [sft]\n", "method:\n"])
def test_a_job_without_a_good_method_is_an_error_and_no_crash(tmp_path: Path, method: str) -> None:
    found = mistakes(tmp_path, LEAST.replace("method: sft\n", method) + "train: {max_steps: 3}\n")
    assert any("method" in what.lower() or "metod" in what for what in found)


def test_a_fix_of_a_broken_job_says_that_nothing_was_fixed(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text := f"{LEAST}epochs: 3\ntrain: {{evaluation_strategy: steps}}\n")
    with pytest.raises(GroupedError, match="no fix was made"):
        holdfast.check(path, offline=True, fix=True)
    assert path.read_text() == text


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("trian:  # all\n  max_steps: 3\n", "train:  # all\n  max_steps: 3\n"),
        ("trian: {learnin_rate: 1.0e-5}\n", "train: {learning_rate: 1.0e-5}\n"),
        ("where: {backnd: local}\n", "where: {backend: local}\n"),
    ],
)
def test_a_misspelt_key_is_renamed_by_an_unsafe_fix_alone(tmp_path: Path, before: str, after: str) -> None:
    """Another key may have been meant. The rest of the file is checked and fixed after it."""
    path = tmp_path / "job.yaml"
    path.write_text(LEAST + before)
    with pytest.raises((JobError, GroupedError)):
        holdfast.check(path, offline=True, fix=True)

    would = holdfast.check(path, offline=True, unsafe_fixes=True, diff=True)["targets"][0]
    assert path.read_text() == LEAST + before
    assert all(f"+{line}" in would["diff"].splitlines() for line in after.splitlines()[:1])
    made = holdfast.check(path, offline=True, unsafe_fixes=True)["targets"][0]
    assert path.read_text() == LEAST + after
    assert (made["fixed"][0]["code"], made["fixed"][0]["safe"]) == ("SYN001", False)


@pytest.mark.parametrize("more", ["evalfraction: 0.1\n", "trian: {}\nseed: x\n", "learning_rate: 1.0e-5\n"])
def test_a_job_file_that_stays_broken_is_left_alone(tmp_path: Path, more: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(LEAST + more)
    with pytest.raises((JobError, GroupedError)):
        holdfast.check(path, offline=True, unsafe_fixes=True)

    assert path.read_text() == LEAST + more


@pytest.mark.parametrize(
    ("more", "meant"),
    [
        ("evalfraction: 0.1\n", "`dataset.eval_fraction`"),
        ("evl_split: test\n", "`dataset.eval_split`"),
        ("lerning_rate: 1.0e-5\n", "`train.learning_rate`"),
        ("trian: {}\n", "`train`"),
    ],
)
def test_a_misspelt_key_of_another_part_is_found_there(tmp_path: Path, more: str, meant: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(LEAST + more)
    with pytest.raises((JobError, GroupedError)) as raised:
        holdfast.check(path, offline=True)

    assert [error.as_json()["fix"] for error in flatten(raised.value)] == [f"did you mean {meant}?"]
