"""What a model gives for a row does not depend on the other rows, nor on what happened on the way."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from holdfast.adapters.evaluation.process import DatasetWork, ModelSource, WorkReport, do_work
from holdfast.core.errors import SourceError
from holdfast.core.evaluation import GenerationSettings, WorkKind
from tests.helpers.evaluated import made_models  # noqa: F401 - the fixture `models`
from tests.helpers.forked_children import evaluations_forked
from tests.helpers.tiny import quiet_environment

pytestmark = pytest.mark.train
WORDS = ("one plus", "two", "3 plus 4 equals 7. user assistant system " * 4, "x", "5 plus 6 equals", "a b c d e f g")
ROWS = [{"row": at, "prompt": text} for at, text in enumerate(WORDS)]
PAIRS = [
    {"row": at, "scored": [{"prompt": text, "answer": answer} for answer in (" 4", " plus equals")]}
    for at, text in enumerate(WORDS)
]
GREEDY = GenerationSettings(max_new_tokens=12)
SAMPLED = GenerationSettings(max_new_tokens=12, temperature=1.0, top_k=50, top_p=0.9, seed=7)


def work_of(folder: Path, name: str, kind: WorkKind, rows: Sequence[Mapping[str, Any]], **more: Any) -> DatasetWork:
    given = folder / f"{name}.rows"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"batch_size": 1, "generation": GREEDY, **more}
    return DatasetWork(name=name, kind=kind, rows=str(given), out=str(folder / f"{name}.jsonl"), **settings)


def outputs(work: DatasetWork) -> dict[int, dict[str, Any]]:
    found = [json.loads(line) for line in Path(work.out).read_text().splitlines()]
    assert len(found) == len({each["row"] for each in found})
    return {each["row"]: each for each in found}


def source(model: Path, **more: Any) -> ModelSource:
    return ModelSource(path=str(model), tokenizer=str(model), **more)


Works = Mapping[str, DatasetWork]


@pytest.fixture(scope="module", name="done")
def doing(models: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Works, WorkReport]:
    """One process does all of the work."""
    folder = tmp_path_factory.mktemp("work")
    chat = [{"role": "user", "content": "2 plus 2"}]
    works = {
        "greedy": work_of(folder, "greedy", "generate", ROWS),
        "greedy in batches": work_of(folder, "greedy in batches", "generate", ROWS, batch_size=4),
        "sampled": work_of(folder, "sampled", "generate", ROWS, generation=SAMPLED),
        "sampled in batches": work_of(folder, "sampled in batches", "generate", ROWS, batch_size=4, generation=SAMPLED),
        "scored": work_of(folder, "scored", "score", PAIRS),
        "scored in batches": work_of(folder, "scored in batches", "score", PAIRS, batch_size=5),
        "resumed": work_of(folder, "resumed", "generate", ROWS, batch_size=4),
        "broken": work_of(folder, "broken", "generate", [{"row": 0}]),
        "long": work_of(folder, "long", "generate", [{"row": 0, "prompt": "plus " * 400}]),
        "chat": work_of(folder, "chat", "score", [{"row": 0, "scored": [{"prompt": chat, "answer": "4"}]}]),
    }
    # A crash left two rows done, and a line half written.
    Path(works["resumed"].out).write_text('{"row": 0, "text": "kept"}\n{"row": 4, "text": "kept"}\n{"row": 1, "te')
    with evaluations_forked():
        return works, do_work(source(models / "tiny"), list(works.values()), lambda _: None, offline=False)


@pytest.mark.parametrize("name", ["greedy", "sampled"])
def test_answers_do_not_depend_on_the_batch(done: tuple[Works, WorkReport], name: str) -> None:
    """Rows of other lengths are padded beside them; each row draws its own random numbers."""
    alone, together = outputs(done[0][name]), outputs(done[0][f"{name} in batches"])

    assert alone == together
    assert len(alone) == len(ROWS)
    assert all(each["text"] for each in alone.values())


def test_sampling_differs_from_greedy(done: tuple[Works, WorkReport]) -> None:
    greedy, sampled = (outputs(done[0][name]) for name in ("greedy", "sampled"))

    assert sum(greedy[row]["text"] != sampled[row]["text"] for row in greedy) >= 4


LIKELIHOODS = """\
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
model, tokenizer = (kind.from_pretrained(sys.argv[1]) for kind in (AutoModelForCausalLM, AutoTokenizer))
found = []
for row in json.load(sys.stdin):
    for pair in row["scored"]:
        ids = tokenizer(pair["prompt"] + pair["answer"])["input_ids"]
        start = max(1, len(tokenizer(pair["prompt"])["input_ids"]))
        with torch.no_grad():
            likely = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        found.append([sum(float(likely[at - 1, ids[at]]) for at in range(start, len(ids))), len(ids) - start])
print(json.dumps(found))
"""


@pytest.mark.long
def test_likelihoods_are_those_of_a_plain_loop(done: tuple[Works, WorkReport], models: Path) -> None:
    """Token by token, without padding; and the same in batches."""
    plain = subprocess.run(
        [sys.executable, "-c", LIKELIHOODS, str(models / "tiny")],
        input=json.dumps(PAIRS), capture_output=True, text=True, check=True, env=quiet_environment(),
    )  # fmt: skip
    expected = json.loads(plain.stdout)
    for name in ("scored", "scored in batches"):
        found = outputs(done[0][name])
        scores = [score for row in range(len(PAIRS)) for score in found[row]["scores"]]
        assert [count for _, count in scores] == [count for _, count in expected]
        assert [value for value, _ in scores] == pytest.approx([value for value, _ in expected], abs=1e-3)


def test_what_was_done_before_a_crash_is_kept(done: tuple[Works, WorkReport]) -> None:
    """The line that was cut off is done again, and nothing else."""
    found, whole = outputs(done[0]["resumed"]), outputs(done[0]["greedy"])

    assert {row for row, each in found.items() if each["text"] == "kept"} == {0, 4}
    assert {row: found[row] for row in (1, 2, 3, 5)} == {row: whole[row] for row in (1, 2, 3, 5)}


def test_one_that_fails_does_not_stop_the_others(done: tuple[Works, WorkReport]) -> None:
    works, report = done

    assert report.done == works.keys() - {"broken"}
    assert report.failed.keys() == {"broken"}
    assert report.failed["broken"].because
    assert report.loaded is not None
    assert report.loaded.dtype == "float32"


def test_long_prompts_lose_their_beginning(done: tuple[Works, WorkReport]) -> None:
    """And this is told."""
    assert outputs(done[0]["long"])[0]["cut"] is True
    assert outputs(done[0]["greedy"])[0]["cut"] is False


def test_the_answer_of_a_chat_ends_as_its_template_ends_it(done: tuple[Works, WorkReport]) -> None:
    """`4`, the end of the turn, and the newline behind it are what training teaches."""
    ((_, tokens),) = outputs(done[0]["chat"])[0]["scores"]

    assert tokens == 3


@pytest.mark.parametrize(
    ("name", "more", "what"),
    [
        ("nan", {}, None),
        ("wrong-adapter", {"adapter": "wrong-adapter"}, "wrong-adapter does not fit its base"),
    ],
)
def test_models_that_give_nothing(
    models: Path, tmp_path: Path, name: str, more: dict[str, str], what: str | None
) -> None:
    """Weights that are no numbers make no figure; an adapter of another shape is told with its base."""
    work = work_of(tmp_path, "scored", "score", PAIRS[:2])
    if what is None:
        with evaluations_forked():
            report = do_work(source(models / name), [work], lambda _: None, offline=False)
        assert report.failed["scored"].name == "nan-loss-silent-success"
        assert "NaN" in report.failed["scored"].because
        return
    model = source(models / "tiny", **{key: str(models / value) for key, value in more.items()})
    with evaluations_forked(), pytest.raises(SourceError, match=what):
        do_work(model, [work], lambda _: None, offline=False)


@pytest.mark.long
def test_a_process_that_is_killed_takes_one_dataset_with_it(models: Path, tmp_path: Path) -> None:
    """As the system does where memory is short: the others are done by another process."""
    rows = [{"row": at, "prompt": f"{at} plus"} for at in range(60)]
    long = GenerationSettings(max_new_tokens=100)
    killed = work_of(tmp_path, "killed", "generate", rows, generation=long)
    other = work_of(tmp_path, "other", "generate", ROWS[:2])

    def kill(told: str) -> None:
        if told.startswith("killed: "):
            for child in psutil.Process().children():
                if "holdfast.payload.evaluate" in child.cmdline():
                    child.kill()

    report = do_work(source(models / "tiny"), [killed, other], kill, offline=False)

    assert report.failed["killed"].name == "cpu-ram-oom-kill"
    assert report.done == {"other"}
    assert 0 < len(outputs(killed)) < len(rows)
    assert len(outputs(other)) == 2
