"""`holdfast evaluate --task`: the scores are lm-eval's own, with intervals, and each mistake is said before a model is loaded."""

import json
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from msgspec import convert

import holdfast
from holdfast.cli.main import run_command
from holdfast.cli.text.evaluation import render_evaluation
from holdfast.results.evaluate import EvaluateResult
from tests.helpers.benchmark_tasks import CHOICE, CORPUS, ROWS, UNSAFE, task_text, write_rows, write_tasks
from tests.helpers.evaluated import made_models  # noqa: F401 - the fixture `models`
from tests.helpers.forked import fork
from tests.helpers.forked_children import evaluations_forked

pytest.importorskip("lm_eval", reason="lm-eval is not installed: holdfast[benchmarks]")
pytestmark = pytest.mark.train
Answer = dict[str, Any]
NAMES = ("parity", "parity_plain", "sums_choice", "sums_written", "sums_corpus", "sums_text")
SHOTS = 2
ITSELF = """\
import json, sys
from lm_eval import evaluator
from lm_eval.tasks import TaskManager
evaluator.add_env_info = lambda _: None  # seconds, for versions of packages
told = {model: {} for model in MODELS}
for model in MODELS:
    for name in NAMES:  # apart, since two groups share their tasks
        told[model] |= evaluator.simple_evaluate(
            "hf", f"pretrained={model}", [name], num_fewshot=SHOTS, limit=LIMIT, apply_chat_template=CHAT, batch_size=4,
            device="cpu", bootstrap_iters=0, task_manager=TaskManager(include_path="tasks", include_defaults=False),
        )["results"]
json.dump(told, open("lm-eval.json", "w"), default=str)
"""


def lm_eval_itself(models: list[Path], folder: Path, *, chat: bool, limit: int | None = None) -> list[Answer]:
    """Return lm-eval's own results for models, by its own way from a model's folder to a score."""
    values = {"MODELS": [str(each) for each in models], "NAMES": NAMES, "SHOTS": SHOTS, "LIMIT": limit, "CHAT": chat}
    program = ITSELF
    for name, value in values.items():
        program = program.replace(name, repr(value))
    done = fork(["-c", program], folder, {**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.exit_code == 0, done.stderr
    told: dict[str, Answer] = json.loads((folder / "lm-eval.json").read_text())
    return [*told.values()]


@contextmanager
def tasks_in(folder: Path) -> Iterator[None]:
    """Be in a folder with tasks, and load models in forked processes."""
    write_tasks(folder)
    with chdir(folder), evaluations_forked():
        yield


def assert_same_scores(answer: Answer, itself: Answer) -> None:
    """Every figure is lm-eval's, and each of lm-eval's is there."""
    told = {(each["dataset"], each["metric"]): each["value"] for each in answer["results"] if not each["where"]}
    values = {
        (task, key.removesuffix(",none")): value
        for task, metrics in itself.items()
        for key, value in metrics.items()
        if "," in key and "_stderr" not in key
    }
    assert told.keys() == values.keys()
    assert told == pytest.approx(values, rel=1e-5)


@pytest.fixture(scope="module", name="several")
def evaluating(models: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, Path]:
    """Two models on tasks of every kind, of which some fail, and on a dataset."""
    folder = tmp_path_factory.mktemp("benchmarks")
    with tasks_in(folder):
        turns = [
            [{"role": "user", "content": "1 plus 1"}, {"role": "assistant", "content": row["text"]}] for row in ROWS[:3]
        ]
        write_rows(Path("chats.jsonl"), [{"messages": each, "level": "easy"} for each in turns])
        broken = CHOICE.replace("dataset_kwargs", "dataset_kwargz") + "dataset_kwargz: {}\n"
        Path("unknown-key.yaml").write_text(task_text("unknown_key", broken))
        absent = task_text("absent", CORPUS).replace("dataset_path: json", "dataset_path: nobody/has-this")
        Path("absent.yaml").write_text(absent.replace("dataset_kwargs", "#"))
        Path("raises.yaml").write_text(task_text("raises", CORPUS.replace("99", "9").replace('equals"', '{{1 / 0}}"')))
        answer = holdfast.evaluate(
            models / "tiny-2",
            base=models / "tiny",
            on="chats.jsonl",
            task=["tasks", "unknown-key.yaml", "absent.yaml", "raises.yaml"],
            few_shot=SHOTS,
            by="level",
            at_least="acc=0.999",
            not_worse_than=models / "tiny",
            max_new_tokens=4,
            offline=True,
        )
    return answer, folder


def test_scores_are_those_of_lm_eval(several: tuple[Answer, Path], models: Path) -> None:
    """Of tasks that choose, write and read, of groups weighed in two ways, with examples and the chat template; of both models."""
    answer, folder = several
    tasks = {**answer, "results": [each for each in answer["results"] if each["dataset"] != "chats.jsonl"]}

    itself, base = lm_eval_itself([models / "tiny-2", models / "tiny"], folder, chat=True)
    assert_same_scores(tasks, itself)
    bases = [{**each, "value": each["base"]["value"]} for each in tasks["results"]]
    assert_same_scores({"results": bases}, base)


def test_figures_have_intervals_where_one_is_known(several: tuple[Answer, Path]) -> None:
    """Shares, means, perplexity and what lm-eval aggregates itself; nothing is made up for the others."""
    found = {(each["dataset"], each["metric"]): each for each in several[0]["results"] if not each["where"]}

    assert found["sums_choice", "acc"]["interval"] == "wilson 95 %"
    assert found["parity", "acc"]["interval"] == "wilson 95 %"
    assert found["parity_plain", "acc"]["interval"] == "bootstrap 95 %"
    for name in (("sums_choice", "brier_score"), ("sums_text", "word_perplexity"), ("sums_text", "bits_per_byte")):
        each = found[name]
        assert each["low"] < each["value"] < each["high"]
        assert each["base"]["low"] <= each["base"]["difference"] <= each["base"]["high"]
    letters, chrf = found["sums_written", "letters"], found["sums_corpus", "chrf"]
    assert letters["low"] < letters["value"] < letters["high"]
    assert (chrf["low"], chrf["base"]["verdict"]) == (None, "undecided")  # no answer has a letter of its reference
    assert found["sums_choice", "brier_score"]["base"]["test"] == ""
    assert found["sums_text", "word_perplexity"]["base"]["test"] == "paired randomization"
    levels = {
        each["where"]["level"] for each in several[0]["results"] if each["where"] and each["dataset"] == "sums_choice"
    }
    assert levels == {"easy", "hard"}


def test_one_that_fails_does_not_stop_the_others(several: tuple[Answer, Path]) -> None:
    failed = {each["dataset"]: each for each in several[0]["failed"]}

    assert failed.keys() == {"unknown_key", "absent", "raises"}
    assert "dataset_kwargz" in failed["unknown_key"]["because"]
    assert "nobody/has-this" in failed["absent"]["because"]
    assert "HF_TOKEN" in failed["absent"]["fix"]
    assert "ZeroDivisionError" in failed["raises"]["because"]
    assert several[0]["verdict"] == "fail"


def test_the_result_says_how_to_repeat_it(several: tuple[Answer, Path]) -> None:
    """The versions of lm-eval and the task, examples, template, seed; a lower value is better where the task says so."""
    answer, _ = several
    datasets = {each["dataset"]: each for each in answer["datasets"]}
    choice = datasets["sums_choice"]["benchmark"]

    assert "benchmark" not in datasets["chats.jsonl"]
    assert (choice["version"], choice["few_shot"], choice["chat_template"], choice["seed"]) == (
        "1.5",
        SHOTS,
        True,
        1234,
    )
    assert choice["harness"] == answer["versions"]["lm-eval"]
    assert datasets["sums_text"]["benchmark"]["chat_template"] is False  # whole texts are read as they are
    assert json.loads(datasets["sums_written"]["benchmark"]["generation"])["until"] == ["99"]
    assert (datasets["parity"]["benchmark"]["tasks"], datasets["parity"]["benchmark"]["weights"]) == (
        ["sums_even", "sums_odd"],
        "rows",
    )
    assert (datasets["parity"]["rows"], datasets["parity_plain"]["benchmark"]["weights"]) == (13, "tasks")
    lower = {each["name"] for each in answer["metrics"] if each.get("lower_is_better")}
    assert lower - {"loss", "perplexity"} == {"letters", "brier_score", "word_perplexity", "bits_per_byte"}


def test_rows_conditions_and_answers_are_those_of_datasets(several: tuple[Answer, Path]) -> None:
    """Samples, worst rows and both kinds of conditions, on groups too."""
    answer, folder = several
    datasets = {each["dataset"]: each for each in answer["datasets"]}
    samples = [json.loads(line) for line in (folder / datasets["sums_choice"]["samples"]).read_text().splitlines()]
    (acc,) = (
        each
        for each in answer["results"]
        if (each["dataset"], each["metric"], each["where"]) == ("sums_choice", "acc", None)
    )
    gates = {each["dataset"]: each["passed"] for each in answer["gates"] if each["gate"].startswith("--at-least")}
    compared = {each["dataset"] for each in answer["gates"] if each["gate"].startswith("--not-worse-than")}

    assert [each["row"] for each in samples] == list(range(len(ROWS)))
    assert sum(each["acc"] for each in samples) / len(samples) == pytest.approx(acc["value"])
    assert all((each["answer"] == each["reference"]) == bool(each["acc"]) for each in samples)
    assert gates == dict.fromkeys(("sums_choice", "sums_even", "sums_odd", "parity", "parity_plain"), False)
    assert compared >= {"sums_choice", "sums_written", "parity"}
    assert {each["dataset"] for each in answer["worst"]} >= {"sums_written", "sums_text"}
    assert datasets["parity"]["samples"] == ""


def test_the_text_says_how_tasks_were_evaluated(several: tuple[Answer, Path]) -> None:
    shown = unstyle(render_evaluation(convert(several[0], EvaluateResult)))

    assert (
        "sums_choice, test: benchmark, 18 rows\n  lm-eval 0.4.13, version 1.5, 2-shot, chat template applied" in shown
    )
    assert "0-shot, no chat template" in shown
    assert "parity: benchmark, 13 rows" in shown
    assert "2 tasks weighed by rows" in shown
    assert "equals<|im_end|> <|im_start|>assistant" in shown  # the end of a prompt, after its examples


WRONG: dict[str, tuple[tuple[str, ...], str, str]] = {
    "file": (
        ("--task", "tasks/sums_text.yml"),
        "no such file or folder: tasks/sums_text.yml",
        "there is tasks/sums_text.yaml",
    ),
    "limit": (("--task", "tasks", "--limit", "0"), "0 is not in the range x>=1", ""),
    "few-shot": (("--task", "tasks", "--few-shot", "-1"), "-1 is not in the range x>=0", ""),
    "two bases": (
        ("--task", "tasks", "--base", "base", "--not-worse-than", "other"),
        "`--not-worse-than` names the model to compare with, and `--base` names another model",
        "leave out `--base`",
    ),
    "no base": (
        ("--task", "tasks", "--no-base", "--not-worse-than", "other"),
        "`--no-base` skips the comparison",
        "leave out `--no-base`",
    ),
    "limit of datasets": (("--on", "rows.jsonl", "--limit", "3"), "--limit is for benchmark tasks", "--rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_at_once(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """With exit code 2, and no process is started."""
    write_tasks(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("holdfast.adapters.evaluation.benchmarks.marked_child", None)
    words, what, fix = WRONG[name]

    code = run_command(["evaluate", str(models / "tiny"), *words])

    told = capsys.readouterr()
    assert code == 2
    assert what in told.out + told.err
    assert fix in told.out + told.err


@pytest.mark.parametrize("model", ["without-tokenizer", "tiny/x.gguf"])
def test_a_model_that_cannot_be_evaluated(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """It is said with what is wrong with the tasks."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(holdfast.HoldfastError) as raised:
        holdfast.evaluate(models / model, task="./gone.yaml", few_shot=-1)

    errors = [each.what for each in raised.value.exceptions]  # type: ignore[attr-defined]  # a group
    assert errors[0] == "no such file or folder: ./gone.yaml"
    assert errors[1] == "-1 examples"
    assert ("no tokenizer" in errors[2]) == (model == "without-tokenizer")
    assert len(errors) == 3


def test_without_lm_eval_it_is_said_what_to_install(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Datasets need it not."""
    monkeypatch.setattr("holdfast.app.extras.find_spec", lambda name: None if name == "lm_eval" else find_spec(name))

    with pytest.raises(holdfast.HoldfastError) as raised:
        holdfast.evaluate(models / "tiny", task="arc_easy")

    assert str(raised.value).startswith("a benchmark task needs lm_eval")
    assert "[benchmarks]" in raised.value.fix


@pytest.mark.long
def test_names_of_the_registry(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt one, one that runs code, and a broken file: all at once, before anything is downloaded."""
    monkeypatch.chdir(tmp_path)
    Path("broken.yaml").write_text("task: [\n")
    Path("runs.yaml").write_text(task_text("runs", UNSAFE))

    with pytest.raises(holdfast.HoldfastError) as raised:
        holdfast.evaluate(models / "tiny", task=["arc_esy", "humaneval", "broken.yaml", "runs.yaml"], offline=True)

    told = {each.where: (each.what, each.fix) for each in raised.value.exceptions}  # type: ignore[attr-defined]  # a group
    assert "arc_easy" in told["--task arc_esy"][1]
    assert "humaneval runs code that the model writes" in told["--task humaneval"][0]
    assert "--allow-code" in told["--task runs.yaml"][1]
    assert "cannot be read" in told["--task broken.yaml"][0]


@pytest.mark.long
@pytest.mark.parametrize(("model", "limit"), [("without-template", None), ("adapter", 7)])
def test_other_models(models: Path, tmp_path: Path, model: str, limit: int | None) -> None:
    """One without a chat template reads texts; an adapter is compared with its base. More examples than rows are an error."""
    with tasks_in(tmp_path):
        write_rows(tmp_path / "odd.jsonl", [row for row in ROWS if row["odd"]])
        Path("hungry.yaml").write_text(task_text("hungry", CORPUS + "num_fewshot: 99\n"))
        Path("runs.yaml").write_text(task_text("runs", UNSAFE))
        answer = holdfast.evaluate(
            models / model, task=["tasks", "runs.yaml"], few_shot=SHOTS, limit=limit, allow_code=True
        )
        with pytest.MonkeyPatch.context() as patch:  # what was answered is not answered again: no process loads a model
            patch.setattr("holdfast.adapters.evaluation.process.marked_child", None)
            again = holdfast.evaluate(models / model, task="tasks/sums_text.yaml", few_shot=SHOTS, limit=limit)
        hungry = holdfast.evaluate(models / model, task="hungry.yaml", no_base=True)

    tasks = {**answer, "results": [each for each in answer["results"] if each["dataset"] != "runs"]}
    names = {each["dataset"]: each["rows"] for each in answer["datasets"]}
    assert names["sums_choice"] == names["runs"] == (limit or len(ROWS))
    assert (answer["base"] is not None) == (model == "adapter")
    assert again["datasets"][0]["reused"] == (limit or len(ROWS))
    assert "hungry has 18 rows to take examples from, and 99 are asked for" in hungry["failed"][0]["because"]
    if model == "without-template":
        (itself,) = lm_eval_itself([models / model], tmp_path, chat=False, limit=limit)
        assert_same_scores(tasks, itself)
