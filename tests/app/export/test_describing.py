"""What the card of a run's model takes from the run's folder."""

import json
from pathlib import Path

import pytest

from holdfast.adapters.evaluation.process import ModelSource
from holdfast.adapters.storage.resolved import resolved_yaml, with_absolute_paths
from holdfast.adapters.storage.run_folder import save_request
from holdfast.app.export.describing import write_card
from holdfast.app.export.finding import ExportSource
from holdfast.app.export.steps import ExportRequest
from holdfast.app.models.found_model import FoundModel
from holdfast.core.job_file.job import Job
from holdfast.core.run.plan import RunRequest
from holdfast.engine.export.public_paths import PublicPaths
from holdfast.results import to_json
from tests.helpers.evaluations import evaluation

PROMPT = "/think first, then read /usr/bin/env"


@pytest.fixture(name="run")
def run_of_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run whose job names files in its own folder, and elsewhere."""
    job, away = tmp_path / "ann" / "job", tmp_path / "ann" / "away"
    run = job / "runs" / "sums-1"
    for folder in (job / "data", away, run / "results"):
        folder.mkdir(parents=True)
    for file in (job / "data/train.jsonl", job / "test.jsonl", away / "rewards.py", away / "more.jsonl"):
        file.touch()
    monkeypatch.chdir(job)
    asked = {
        "method": "grpo", "model": str(away), "dataset": "data/train.jsonl", "rewards": [f"{away}/rewards.py:score"],
        "evaluate": [{"dataset": ["test.jsonl", f"{away}/more.jsonl"]}], "environment": {"variables": {"PATH_OF": f"x={away}/lib"}},
    }  # fmt: skip
    resolved = with_absolute_paths(Job.model_validate(asked), str(job / "job.yaml"))
    (run / "job.resolved.yaml").write_text(resolved_yaml(resolved))
    save_request(run, RunRequest(target=str(job / "job.yaml"), cwd=str(job)))
    found = to_json(evaluation(str(job / "test.jsonl"), str(away / "more.jsonl")))
    figure = {
        "split": "test", "rows": 60, "metric": "loss", "value": 1.05, "low": 1.0, "high": 1.1, "interval": "", "rows_needed": None,
        "where": None, "base": None,
    }  # fmt: skip
    found["results"] = [figure | {"dataset": each["dataset"]} for each in found["datasets"]]
    found["leaks_unknown"] = f"{away}/more.jsonl cannot be read"
    (run / "results" / "evaluation-1.json").write_text(json.dumps(found))
    checkpoint = found | {"model": str(run / "checkpoints" / "checkpoint-5"), "results": []}
    (run / "results" / "evaluation-2.json").write_text(json.dumps(checkpoint))
    return run


def card_of(run: Path, base: str = "") -> str:
    source = ModelSource(path=str(run / "model"), tokenizer=str(run / "model"))
    found = FoundModel(
        name=run.name, source=source, identity="", template=None, base=base or str(run.parents[2] / "away"), trained_on=str(run.parents[1] / "data/train.jsonl"),
        run=run, is_final=True,
    )  # fmt: skip
    request = ExportRequest(
        source=ExportSource(
            name=str(run), found=found, adapters=(), base=None, base_chosen=False, revision=None, config={}, notes=()
        ),
        out=run / "out",
    )
    write_card(request, [], {"torch": "2.13"}, run)
    return (run / "README.md").read_text()


def test_a_card_has_no_absolute_path_of_this_machine(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths in the job's folder are relative to it; of others, the names remain. The evaluation of a checkpoint is not the model's."""
    monkeypatch.setenv("HOME", str(tmp_path))

    card = card_of(run)

    assert str(tmp_path) not in card
    assert "from any folder" not in card
    for text in (
        "- trained from: away\n",
        "- trained on: data/train.jsonl\n",
        "  path: data/train.jsonl\n",
        "rewards: [rewards.py:score]\n",
        "dataset: [test.jsonl, more.jsonl]",
        "PATH_OF: x=lib",
        "| test.jsonl | loss | 1.05 |",
        "| more.jsonl | loss | 1.05 |",
        "more.jsonl cannot be read",
    ):
        assert text in card


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/w/job/a.jsonl", "a.jsonl"),
        ("/w/job/data/*.parquet", "data/*.parquet"),
        ("/w/job/../other/b.jsonl", "b.jsonl"),
        ("/w/jobs/b.jsonl", "b.jsonl"),
        ("~/secret/models/base", "base"),
        ("/w/job/my data/m.py:f", "my data/m.py:f"),
        ("a=/w/job/x.so, b=/home/ann/y", "a=x.so, b=y"),
        (PROMPT, PROMPT),
        ("/think", "/think"),
        ("https://example.org/home/ann/x", "https://example.org/home/ann/x"),
        ("data/a.jsonl", "data/a.jsonl"),
        ("/w/job/a.jsonl has no prompt/completion", "a.jsonl has no prompt/completion"),
        ("/srv/x/base lacks 3 weights", "base lacks 3 weights"),
        ("cannot read /srv/client/eval.jsonl: no such file", "cannot read eval.jsonl: no such file"),
        ("see file:///srv/client/eval.jsonl", "see file://eval.jsonl"),
        ("/srv/my client/eval.jsonl", "eval.jsonl"),
        ("<b></b></i> and/or 1/2/3 km/h", "<b></b></i> and/or 1/2/3 km/h"),
    ],
)
def test_only_paths_are_changed(text: str, shown: str) -> None:
    paths = PublicPaths("/w/job")

    assert paths.render_all({"a": [text, 1], text: 2}) == {"a": [shown, 1], shown: 2}


@pytest.mark.parametrize(
    ("base", "told"),
    [
        ("acme/base", "acme/base"), ("gpt2", "gpt2"), ("{job}/models/qwen", ""), ("models/qwen", ""), ("~/models/qwen", ""), ("./qwen", ""),
        ("builtin:tiny", ""), ("{job}/gone/qwen", ""),
    ],
)  # fmt: skip
def test_only_a_base_of_the_hub_is_linked(run: Path, base: str, told: str) -> None:
    """The Hub would link a folder in the job's folder as somebody's model."""
    job = run.parents[1]
    (job / "models" / "qwen").mkdir(parents=True)

    card = card_of(run, base.format(job=job))

    assert [line for line in card.splitlines() if line.startswith("base_model:")] == [f"base_model: {told}"][
        : bool(told)
    ]
