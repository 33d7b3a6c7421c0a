"""`holdfast evaluate FILE.gguf`: the same figures as of the model that it was made from, by the runtime that it is made for."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.evaluate.asking import BenchmarkTasks
from holdfast.app.evaluate.finding import NamedData, NamedModels, find_request
from holdfast.core.errors import HoldfastError
from holdfast.payload.export.converter import Converter
from tests.app.evaluate.test_evaluate import CHATS, CHOICES, PAIRS, SUMS, figures, write
from tests.app.evaluate.test_training_rows import OPTIONS
from tests.helpers.evaluated import made_models  # noqa: F401 - the fixture `models`
from tests.helpers.forked_children import evaluations_forked
from tests.helpers.gguf_files import gguf_bytes, number, text
from tests.helpers.gguf_tools import kept_converter

pytestmark = pytest.mark.train
DATA = {"sums": SUMS, "chats": CHATS, "choices": CHOICES, "pairs": PAIRS}


@pytest.fixture(scope="module", name="gguf")
def converted(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The GGUF file of a tiny model."""
    file = tmp_path_factory.mktemp("gguf") / "tiny-f16.gguf"
    converter = Converter(str(kept_converter().folder))
    converter.convert(models / "tiny", file, "--outtype", "f16", pre_tokenizer="qwen2")
    return file


def evaluate(model: Path, **options: Any) -> dict[str, Any]:
    names = [f"{name}.jsonl" for name in DATA]
    with evaluations_forked():
        answer: dict[str, Any] = holdfast.evaluate(model, on=names, max_new_tokens=6, **options)
    return answer


def test_figures_are_those_of_the_original(
    gguf: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers to the letter, greedy or sampled, in batches of any size; likelihoods but for the rounding to 16 bits."""
    monkeypatch.chdir(tmp_path)
    for name, rows in DATA.items():
        write(tmp_path / f"{name}.jsonl", rows)

    answer = evaluate(gguf, base=models / "tiny", metric=["exact_match", "chrf", "acc", "pairwise_accuracy", "loss"])
    sampled = [evaluate(model, temperature=0.9, seed=3, stop=["1"], batch_size=size, metric="chrf") for model, size in ((gguf, 32), (gguf, 1), (models / "tiny", 32))]  # fmt: skip

    assert answer["failed"] == []
    assert answer["versions"]["llama-cpp-python"]
    for name in DATA:
        for figure in figures(answer, f"{name}.jsonl").values():
            assert figure["value"] == pytest.approx(figure["base"]["value"], abs=1e-3)
    values = [figures(each, "sums.jsonl")["chrf"]["value"] for each in sampled]
    assert values == [values[0]] * 3


def test_a_file_that_lacks_its_end(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an interrupted download leaves it: what the runtime says of it is passed on."""
    monkeypatch.chdir(tmp_path)
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(gguf.read_bytes()[:-1000])

    with evaluations_forked(), pytest.raises(HoldfastError, match="model is corrupted or incomplete") as raised:
        holdfast.evaluate(cut, prompt="1 plus 1")
    assert raised.value.fix == "export or download it again"


QWEN = {"general.architecture": text("qwen2")}


@pytest.mark.parametrize(
    ("metadata", "what"),
    [
        (None, "is not a whole GGUF file: it does not begin with `GGUF`"),
        ({**QWEN, "general.type": text("adapter")}, "holds no model: its type is `adapter`"),
        ({"general.architecture": text("bert"), "bert.attention.causal": number(7, "?", 0)}, "holds an encoder (bert)"),
    ],
)
def test_files_that_hold_no_model_that_writes(tmp_path: Path, metadata: Mapping[str, bytes] | None, what: str) -> None:
    """They are refused before anything is loaded, also as the model to compare with."""
    file = tmp_path / "m.gguf"
    file.write_bytes(b"<html>" if metadata is None else gguf_bytes(metadata))

    named: list[dict[str, Any]] = [{"model": file}, {"model": tmp_path, "base": file}]
    for options in named:
        with pytest.raises(HoldfastError) as raised:
            holdfast.evaluate(**options, prompt="1 plus 1")
        errors = getattr(raised.value, "exceptions", (raised.value,))
        assert what in errors[-1].what


@pytest.fixture(name="bare")
def metadata_alone(tmp_path: Path) -> Path:
    """A GGUF file of which nothing but its metadata is read."""
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf_bytes(QWEN))
    return file


def test_a_missing_runtime_is_said_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.app.extras.find_spec", lambda name: None if name == "llama_cpp" else find_spec(name))

    with pytest.raises(HoldfastError, match="a GGUF file needs llama_cpp") as raised:
        holdfast.evaluate(bare, prompt="1 plus 1")
    assert "[gguf]" in raised.value.fix


def test_benchmark_tasks_are_refused(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-eval runs models of transformers; datasets can be evaluated."""
    monkeypatch.setattr("holdfast.app.extras.find_spec", lambda _: True)
    session: Any = None
    tasks = BenchmarkTasks(session=session, version="", few_shot=None, limit=None)
    models = NamedModels(base=None, own=False, gated=False, runs=None)

    with pytest.raises(HoldfastError, match="benchmark tasks cannot be evaluated with a GGUF file"):
        find_request(
            str(bare), models, NamedData(on=(), prompts=(), trained_on=(), benchmarks=tasks), OPTIONS, errors=[]
        )
