"""A script's own small files: their rows are judged as `inspect` judges them, where the trainer is given them as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast

HEADER = '# /// script\n# dependencies = ["trl=={trl}", "transformers=={transformers}", "datasets==5.2.0"]\n# ///\n'
IMPORTS = (
    "import sys\nfrom datasets import load_dataset\nfrom trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer\n"
)
TRAIN = 'SFTTrainer("m", args=SFTConfig("out"{settings}), train_dataset=rows{more}).train()\n'
LOAD = 'rows = load_dataset("json", data_files="chats.jsonl", split="train"){then}\n'
CHAT = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
DAMAGES: dict[str, tuple[Any, str]] = {
    "of another type": ("So.", "DAT204"),
    "empty": ([], "DAT207"),
    "null": (None, "DAT206"),
    "an unknown role": ([{"role": "narrator", "content": "Once."}, *CHAT], "DAT209"),
    "no answer": (CHAT[:1], "DAT211"),
}
UNCHANGED = {
    "a split": LOAD.format(then=""),
    "shuffled": LOAD.format(then=".shuffle(seed=1)"),
    "parted": LOAD.format(then=".train_test_split(0.1, seed=1)") + 'rows = rows["train"]\n',
    "a split by name": 'rows = load_dataset("json", data_files={"train": "chats.jsonl"})["train"]\n',
    "a variable": 'FILE = "chats.jsonl"\nrows = load_dataset("json", data_files=FILE, split="train")\n',
    "from_json": 'from datasets import Dataset\nrows = Dataset.from_json("chats.jsonl")\n',
}
CHANGED = {
    "filtered": LOAD.format(then='.filter(lambda row: row["messages"])'),
    "mapped": LOAD.format(then=".map(lambda row: row)"),
    "some of them": LOAD.format(then=".select(range(3))"),
    "sometimes filtered": LOAD.format(then="") + "if sys.argv[1:]:\n    rows = rows.filter(len)\n",
    "written first": 'open("chats.jsonl", "w").write("{}")\n' + LOAD.format(then=""),
    "another field": 'rows = load_dataset("json", data_files="chats.jsonl", field="data", split="train")\n',
}
TRAINED_OTHERWISE = {
    "formatted": TRAIN.format(settings="", more=", formatting_func=str"),
    "not prepared": TRAIN.format(settings=', dataset_kwargs={"skip_prepare_dataset": True}', more=""),
    "own collator": TRAIN.format(settings="", more=", data_collator=print"),
    "own trainer": "class Own(SFTTrainer):\n    def _prepare_dataset(self, rows, *rest):\n        return rows\n"
    + TRAIN.format(settings="", more="").replace("SFTTrainer(", "Own("),
}

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(body: str, value: Any, trl: str = "1.16.0", transformers: str = "5.23.0") -> dict[str, Any]:
    """Return what is said of a script beside a file of twenty chats, of which one is another value."""
    rows: list[Any] = [{"messages": CHAT}] * 20
    rows[7] = {"messages": value}
    Path("chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("train.py").write_text(HEADER.format(trl=trl, transformers=transformers) + IMPORTS + body)
    answer: dict[str, Any] = holdfast.check("train.py", offline=True)["targets"][0]
    return answer


def of_rows(answer: dict[str, Any]) -> list[str]:
    """Return the codes of what is found of rows, and of what is skipped of them."""
    told = [*answer["findings"], *answer["skipped"]]
    return sorted({each["code"] for each in told if each["code"].startswith("DAT2") and each["code"] != "DAT219"})


@pytest.mark.parametrize("way", UNCHANGED)
@pytest.mark.parametrize("damage", DAMAGES)
def test_rows_of_a_file_that_a_script_names_are_judged(way: str, damage: str) -> None:
    value, code = DAMAGES[damage]
    body = UNCHANGED[way] + TRAIN.format(settings="", more="")

    found = next(each for each in check(body, value)["findings"] if each["code"] == code)

    assert "Row 7" in found["message"]
    assert any(name in body.splitlines()[found["line"] - 7] for name in ("load_dataset", "from_json"))
    assert of_rows(check(body, CHAT)) == []


@pytest.mark.parametrize("body", [*(each + TRAIN.format(settings="", more="") for each in CHANGED.values()),
                                  *(UNCHANGED["a split"] + each for each in TRAINED_OTHERWISE.values())],
                         ids=[*CHANGED, *TRAINED_OTHERWISE])  # fmt: skip
def test_nothing_is_said_of_rows_that_the_trainer_may_not_be_given_so(body: str) -> None:
    """A script may mend them first."""
    assert not [each for each in check(body, [])["findings"] if each["code"].startswith("DAT2")]


def test_rows_of_releases_that_were_not_tried_are_skipped() -> None:
    body = UNCHANGED["a split"] + TRAIN.format(settings="", more="")
    answer = check(body, [], trl="0.19.1", transformers="4.53.0")
    assert not [each for each in answer["findings"] if each["code"].startswith("DAT2")]
    assert "DAT207" in {each["code"] for each in answer["skipped"]}


def test_evaluation_rows_that_are_trained_on_are_told_across_files() -> None:
    body = UNCHANGED["a split"] + 'test = load_dataset("json", data_files="test.jsonl", split="train")\n'
    Path("test.jsonl").write_text(json.dumps({"messages": CHAT}) + "\n")
    answer = check(body + TRAIN.format(settings="", more=", eval_dataset=test"), CHAT)
    assert of_rows(answer) == ["DAT220"]


def test_only_selected_rules_about_rows_are_asked() -> None:
    body = UNCHANGED["a split"] + TRAIN.format(settings="", more="")
    check(body, [])
    assert not holdfast.check("train.py", offline=True, ignore=["DAT2"])["targets"][0]["findings"]
    assert [
        each["code"] for each in holdfast.check("train.py", offline=True, select=["DAT207"])["targets"][0]["findings"]
    ] == ["DAT207"]


def test_a_large_file_is_left_to_inspect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.app.inspect.small.LARGEST_BYTES", 100)
    answer = check(UNCHANGED["a split"] + TRAIN.format(settings="", more=""), [])
    skip = next(each for each in answer["skipped"] if each["code"] == "DAT207")
    assert "more than a check reads" in skip["because"]
