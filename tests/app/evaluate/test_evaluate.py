"""`holdfast evaluate`, as typed: figures, files, exit codes, and what it says of whatever is wrong."""

import csv
import json
from collections.abc import Callable, Iterable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.cli.main import run_command
from tests.helpers.evaluated import made_models  # noqa: F401 - the fixture `models`
from tests.helpers.forked_children import (
    evaluations_forked,
    fork_evaluations,  # noqa: F401 - the fixture `forked_evaluations`
)

pytestmark = [pytest.mark.train, pytest.mark.usefixtures("forked_evaluations")]
Row = dict[str, Any]
SUMS: list[Row] = [{"question": f"{a} plus {b}", "answer": str(a + b), "level": "easy" if a < 3 else "hard"} for a in range(6) for b in range(2)]  # fmt: skip
CHATS: list[Row] = [{"messages": [{"role": "user", "content": row["question"]}, {"role": "assistant", "content": row["answer"]}]} for row in SUMS]  # fmt: skip
CHOICES: list[Row] = [{"question": row["question"], "choices": [row["answer"], "99"], "answer": 0} for row in SUMS]
PAIRS: list[Row] = [{"prompt": row["question"], "chosen": row["answer"], "rejected": "99"} for row in SUMS]
CLASSES: list[Row] = [{"text": row["question"], "label": int(row["answer"]) % 2} for row in SUMS]
DATA: dict[str, list[Row]] = {"sums": SUMS, "chats": CHATS, "choices": CHOICES, "pairs": PAIRS, "classes": CLASSES}
OWN = """\
def length(predictions, references, level):
    return [len(each) for each in predictions]

def raises(predictions, **columns):
    return [1 / 0 for each in predictions]

def texts(predictions, references):
    return ["good" for each in predictions]

def reward(completions, solution, **columns):
    return [float(each in text[0]["content"]) for each, text in zip(solution, completions)]
"""
FEW = ("--max-new-tokens", "6")


def write(path: Path, rows: Iterable[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with datasets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    for name, rows in DATA.items():
        write(tmp_path / f"{name}.jsonl", rows)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(name="ask")
def asking(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Type a command that answers in JSON; return its exit code and its answer."""

    def typed(*words: str | Path) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run_command(["evaluate", *map(str, words), "--format", "json"])
        return code, json.loads(capsys.readouterr().out)

    return typed


def figures(answer: dict[str, Any], dataset: str) -> dict[str, Row]:
    return {each["metric"]: each for each in answer["results"] if each["dataset"] == dataset and not each["where"]}


@pytest.fixture(scope="module", name="several")
def evaluating(models: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """An adapter on several datasets, of which two fail; the answer, and the folder."""
    folder = tmp_path_factory.mktemp("several")
    lacking = [{**row, "answer": None} if at % 2 else row for at, row in enumerate(SUMS)]
    data: dict[str, list[Row]] = {**DATA, "empty": [], "odd": [{"picture": 1.5}] * 3, "lacking": lacking}
    for name, rows in data.items():
        write(folder / f"{name}.jsonl", rows)
    (folder / "torn.jsonl").write_text('{"question": "1 plus')
    with (folder / "pairs.jsonl").open("a") as file:
        file.write('{"prompt": "1 plus\n')
    named = ("sums", "chats", "choices", "pairs", "odd", "torn", "empty", "lacking")
    with chdir(folder), evaluations_forked():
        answer = holdfast.evaluate(
            models / "adapter", on=[f"{name}.jsonl" for name in named], max_new_tokens=6, by="level"
        )
    return answer, folder


Several = tuple[dict[str, Any], Path]


def test_each_dataset_is_evaluated_for_what_its_columns_hold(several: Several) -> None:
    assert {each["dataset"]: each["task"] for each in several[0]["datasets"]} == {
        "sums.jsonl": "answers",
        "chats.jsonl": "likelihood",
        "choices.jsonl": "choices",
        "pairs.jsonl": "preference",
        "lacking.jsonl": "answers",
    }


def test_one_that_fails_is_named_and_does_not_stop_the_others(several: Several) -> None:
    """A dataset that nothing can be evaluated on, and a file that is torn; a row that lacks its answer is left out."""
    answer, _ = several
    failed = {each["dataset"]: each for each in answer["failed"]}
    lacking = next(each for each in answer["datasets"] if each["dataset"] == "lacking.jsonl")
    pairs = next(each for each in answer["datasets"] if each["dataset"] == "pairs.jsonl")

    assert answer["verdict"] == "fail"
    assert failed.keys() == {"odd.jsonl", "torn.jsonl", "empty.jsonl"}
    assert "it has picture" in failed["odd.jsonl"]["because"]
    assert all(each["because"] and each["fix"] for each in failed.values())
    assert (lacking["rows"], lacking["of"], lacking["unfit"], lacking["first_unfit"]) == (6, 12, 6, [1, 3, 5, 7, 9])
    assert (pairs["rows"], pairs["unreadable"]) == (12, 1)


def test_figures_have_intervals_and_stand_beside_the_adapters_base(several: Several, models: Path) -> None:
    answer, _ = several
    sums, loss = figures(answer, "sums.jsonl"), figures(answer, "chats.jsonl")["loss"]
    match = sums["exact_match"]

    assert {"exact_match", "f1", "rougeL", "bleu", "chrf", "number_match"} <= sums.keys()
    assert (match["interval"], match["rows"]) == ("wilson 95 %", 12)
    assert match["low"] <= match["value"] <= match["high"]
    assert answer["base"] == str(models / "tiny")
    assert loss["base"]["verdict"] in ("better", "worse", "undecided")
    assert loss["base"]["low"] <= loss["base"]["difference"] <= loss["base"]["high"]
    assert loss["base"]["difference"] == pytest.approx(loss["value"] - loss["base"]["value"])
    assert {each["where"]["level"] for each in answer["results"] if each["where"]} == {"easy", "hard"}
    worst = next(each for each in answer["worst"] if each["dataset"] == "sums.jsonl")
    assert {"prompt", "reference", "answer", "base_answer", "base_value"} <= worst.keys()


def test_results_are_written(several: Several) -> None:
    """As JSON, as CSV with what is needed to repeat them, and the answers as JSON lines."""
    answer, folder = several
    json_file, csv_file = (folder / each for each in answer["files"])
    rows = list(csv.DictReader(csv_file.read_text().splitlines()))
    samples = [json.loads(line) for line in (folder / answer["datasets"][0]["samples"]).read_text().splitlines()]

    assert json.loads(json_file.read_text()) == answer
    assert len(rows) == len(answer["results"])
    assert {"value", "low", "high", "verdict", "seed", "template", "transformers version"} <= rows[0].keys()
    assert [each["row"] for each in samples] == list(range(12))
    assert {"prompt", "reference", "answer", "base_answer"} <= samples[0].keys()


def test_what_was_answered_is_not_answered_again(
    several: Several, models: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With other conditions too; a condition that does not hold is exit code 1."""
    answer, folder = several
    monkeypatch.chdir(folder)

    code, again = ask(models / "adapter", "--on", "sums.jsonl", *FEW, "--at-least", "exact_match=0.9")

    assert again["datasets"][0]["reused"] == 12
    assert figures(again, "sums.jsonl") == figures(answer, "sums.jsonl")
    assert again["settings"]["device"] == answer["settings"]["device"] != ""
    assert (code, again["gates"][0]["passed"]) == (1, False)


def test_functions_judge_answers(models: Path, here: Path, ask: Ask) -> None:
    """A metric and a reward of one's own; those that raise or give text fail by themselves. Rows of the training data are found."""
    write(here / "train.jsonl", SUMS[:3])
    write(here / "prompts.jsonl", [{"prompt": row["question"], "answers": 3} for row in SUMS])

    code, answer = ask(
        models / "tiny", "--on", "sums.jsonl", *FEW, "--metric", "own.py:length", "--metric", "exact_match",
        "--rewards", "own.py:reward", "--trained-on", "train.jsonl", "--prompt", "1 plus 1",
    )  # fmt: skip
    found = figures(answer, "sums.jsonl")
    assert code == 0
    assert found.keys() == {"exact_match", "own.py:length", "own.py:reward"}
    assert answer["leaked"][0] | {"without": []} == {
        "dataset": "sums.jsonl", "rows": 3, "fraction": 0.25, "exact": [0, 1, 2], "near": [], "without": [],
    }  # fmt: skip
    assert {each["rows"] for each in answer["leaked"][0]["without"]} == {9}
    assert [each["prompt"] for each in answer["answers"]] == ["1 plus 1"]

    for name, because in (("raises", "it raises ZeroDivisionError"), ("texts", "its value 0 is a str, and no number")):
        code, answer = ask(models / "tiny", "--on", "sums.jsonl", *FEW, "--metric", f"own.py:{name}")
        assert code == 1
        assert because in answer["failed"][0]["because"]
        assert not answer["results"]
    code, answer = ask(models / "tiny", "--on", "prompts.jsonl", *FEW)
    assert "name reward functions" in answer["failed"][0]["fix"]


def test_heads(models: Path, ask: Ask) -> None:
    """A classifier's labels, and a reward model's preferences; what a head cannot do is told."""
    code, answer = ask(models / "classifier", "--on", "classes.jsonl", "--on", "sums.jsonl")
    labels = answer["datasets"][0]

    assert (code, answer["failed"][0]["because"]) == (
        1,
        "the model has a head with 2 labels, and the data is for answers, prompts, likelihood",
    )
    assert labels["labels"] == {"odd": 6, "even": 6}
    assert [sum(row) for row in labels["confusion"]["counts"]] == [6, 6]
    assert figures(answer, "classes.jsonl").keys() == {"accuracy", "macro_f1"}
    code, answer = ask(models / "reward", "--on", "pairs.jsonl")
    assert (code, answer["datasets"][0]["task"]) == (0, "preference")


def test_a_model_without_template_takes_texts_and_no_messages(models: Path, ask: Ask) -> None:
    """The class is told; a gate against another model compares both on the same rows."""
    code, answer = ask(
        models / "without-template", "--on", "chats.jsonl", "--on", "choices.jsonl", "--not-worse-than", models / "tiny"
    )

    assert code == 1
    assert [(each["dataset"], each["class"]) for each in answer["failed"]] == [("chats.jsonl", "chat-template-missing")]
    (gate,) = answer["gates"]
    assert (gate["dataset"], gate["passed"]) == ("choices.jsonl", True)
    assert figures(answer, "choices.jsonl")["acc"]["base"]["difference"] == 0


def test_the_text_shows_figures_and_worst_rows(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--on", "choices.jsonl", "--on", "chats.jsonl", "--base", str(models / "tiny")]

    code = run_command(["evaluate", str(models / "tiny-2"), *words])

    shown = capsys.readouterr().out
    assert code == 0
    assert "choices.jsonl, train: choices, 12 rows" in shown
    assert "undecided with 12 rows" in shown
    assert "worst rows, by loss:" in shown
    assert "worst rows, by acc:" not in shown  # it gets all of them right
    assert "written: results/evaluation-" in shown


WRONG: dict[str, tuple[tuple[str, ...], list[tuple[str, str]]]] = {
    "data": (("tiny", "--on", "sum.jsonl"), [("no such file or folder: sum.jsonl", "there is sums.jsonl")]),
    "all at once": (
        ("tinny", "--on", "sums.json", "--on", "chats.jsonl", "--on", "chat.jsonl", "--metric", "exact_mach"),
        [
            ("no metric is called 'exact_mach'", "there is exact_match"),
            ("no such model: ./models/tinny", "there is models/tiny"),
            ("no such file or folder: sums.json", "there is sums.jsonl"),
            ("no such file or folder: chat.jsonl", "there is chats.jsonl"),
        ],
    ),
    "nothing": (
        ("tiny",),
        [("nothing to evaluate on", "name datasets with --on, benchmark tasks with --task, or a --prompt")],
    ),
    "function": (("tiny", "--on", "sums.jsonl", "--metric", "on.py:x"), [("no such file: on.py", "there is own.py")]),
    "reward": (("tiny", "--on", "sums.jsonl", "--rewards", "none"), [("'none' names no function", "write FILE:FUNC")]),
    "gate": (("tiny", "--on", "sums.jsonl", "--at-least", "f1"), [("'f1' is not a condition", "write METRIC=NUMBER")]),
    "gate's metric": (
        ("tiny", "--on", "sums.jsonl", "--at-least", "acuracy=0.5"),
        [("no metric is called 'acuracy'", "there is accuracy")],
    ),
    "gguf": (("tiny/x.gguf", "--on", "sums.jsonl"), [("no such file: ./models/tiny/x.gguf", "name a GGUF file")]),
    "no tokenizer": (("without-tokenizer", "--on", "sums.jsonl"), [("has no tokenizer", "save_pretrained")]),
    "column": (("tiny", "--on", "sums.jsonl", "--by", "levels"), [("no dataset has a column `levels`", "level")]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_missing_is_told_before_anything_is_loaded(models: Path, here: Path, ask: Ask, name: str) -> None:
    """All of it at once, with the nearest names, and exit code 2."""
    (here / "models").symlink_to(models)
    (model, *words), expected = WRONG[name]

    code, answer = ask(f"./models/{model}", *words)

    assert code == 2
    assert len(answer["errors"]) == len(expected)
    for error, (what, fix) in zip(answer["errors"], expected, strict=True):
        assert what in error["what"]
        assert fix in error["fix"]


def test_an_adapter_whose_base_is_gone(models: Path, here: Path, ask: Ask) -> None:
    """It is told with the file that names it."""
    adapter = here / "adapter"
    adapter.mkdir()
    for file in (models / "adapter").iterdir():
        text = file.read_bytes()
        (adapter / file.name).write_bytes(text.replace(str(models / "tiny").encode(), b"/nowhere/base"))

    code, answer = ask("./adapter", "--on", "sums.jsonl")

    (error,) = answer["errors"]
    assert code == 2
    assert error["what"] == "the base of the adapter ./adapter: no such model: /nowhere/base"
    assert error["where"] == "./adapter/adapter_config.json"
