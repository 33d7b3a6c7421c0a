"""Which rows a rendered script trains on: each strategy, on real `datasets`, without holdfast and the same each time."""

import hashlib
import json
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import UsageError
from holdfast.core.job_file.job import Job
from holdfast.engine.report.rows import describe_rows
from holdfast.engine.script.render import render_rows_script, render_script

MAP = "def prepare(row):\n    return {'text': (row.get('text') or row['question']).upper()}\n"
Chosen = tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]
Load = Callable[..., Chosen]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three small files, which `datasets` reads once."""
    folder = tmp_path_factory.mktemp("place")
    write(
        folder / "a.jsonl",
        [{"text": f"a{n}" + "x" * n, "topic": ["math", "code", "law"][n % 5 % 3]} for n in range(50)],
    )
    write(folder / "b.jsonl", [{"text": f"b{n}", "topic": "math" if n % 2 else "law"} for n in range(30)])
    write(folder / "c.jsonl", [{"question": f"c{n}"} for n in range(10)])
    return folder


@pytest.fixture(name="load")
def loader(place: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Choose the rows of a job's `dataset` as its script does."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(place)

    def load(**dataset: Any) -> Chosen:
        train, evaluation, account = rendered(**dataset).load_data()
        return list(train), list(evaluation or ()), account

    return load


def rendered(**dataset: Any) -> Any:
    """Return the script of a job's rows as a module."""
    job = Job.model_validate({"method": "sft", "model": "m", "dataset": {"path": "a.jsonl", **dataset}})
    script = render_rows_script(job, name="demo", sources={"prepare.py": MAP})
    module = types.ModuleType("rendered")
    exec(compile(script, "rows.py", "exec"), module.__dict__)
    return module


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def texts(rows: list[dict[str, Any]]) -> list[str]:
    return [row["text"] for row in rows]


@pytest.mark.parametrize(
    "dataset",
    [
        {},
        {"rows": 7, "sample": "head"},
        {"rows": 7},
        {"rows": 13, "sample": "stratified", "by": "topic"},
        {"rows": 13, "sample": "length"},
        {"mix": ["b.jsonl"], "eval_fraction": 0.2},
    ],
    ids=["all", "head", "random", "stratified", "length", "mixture"],
)
def test_the_same_job_gives_the_same_rows(load: Load, dataset: dict[str, Any]) -> None:
    """Rows, order and hash are the same again; the rows are rows of the data, none twice, and as many as the account says."""
    train, evaluation, account = load(**dataset)
    again = load(**dataset)

    assert (train, evaluation, account["sha256"]) == (again[0], again[1], again[2]["sha256"])
    assert len({*texts(train), *texts(evaluation)}) == len(train) + len(evaluation)
    assert account["rows"] == len(train)


def test_another_seed_gives_other_rows_and_another_hash(load: Load) -> None:
    """The number of rows of each value stays."""
    first, _, account = load(rows=13, sample="stratified", by="topic", seed=1)
    second, _, other = load(rows=13, sample="stratified", by="topic", seed=2)

    assert texts(first) != texts(second)
    assert account["sha256"] != other["sha256"]
    assert account["strata"] == other["strata"]


def test_the_hash_covers_rows_spread_over_many() -> None:
    """Of 200,000 rows, every second one: so that training begins soon."""
    from datasets import Dataset

    digest_rows = rendered().digest_rows
    rows = Dataset.from_dict({"n": range(200_000)})
    alike = Dataset.from_dict({"n": [n - n % 2 for n in range(200_000)]})

    assert digest_rows(rows) == digest_rows(alike)
    assert digest_rows(rows.select(range(9))) != digest_rows(alike.select(range(9)))


def test_bytes_count_with_their_hash() -> None:
    """Rows with images are hashed as fast as their bytes are read."""
    from datasets import Dataset

    row = json.dumps({"image": hashlib.sha256(b"\xff\xd8").hexdigest()}).encode() + b"\n"
    rows = Dataset.from_dict({"image": [b"\xff\xd8"]})

    assert rendered().digest_rows(rows) == hashlib.sha256(row).hexdigest()


def test_one_process_of_a_training_computes_the_hash(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others have the same rows."""
    first, _, account = load(rows=7)
    monkeypatch.setenv("RANK", "1")
    second, _, other = load(rows=7)

    assert first == second
    assert other == {name: value for name, value in account.items() if name != "sha256"} != account


def test_the_head_is_the_head(load: Load) -> None:
    """The first rows, in their order."""
    assert texts(load(rows=3, sample="head")[0]) == ["a0", "a1x", "a2xx"]


@pytest.mark.parametrize("rows", [5, 13, 50, 99])
def test_each_value_has_its_share(load: Load, rows: int) -> None:
    """Of 50 rows, 20 are of math, 20 of code and 10 of law: no share is off by a row or more."""
    train, _, account = load(rows=rows, sample="stratified", by="topic")
    counts = Counter(row["topic"] for row in train)
    wanted = min(rows, 50)

    assert sum(counts.values()) == wanted
    assert account["strata"] == {name: counts[name] for name in account["strata"]}
    assert all(abs(counts[name] - wanted * whole / 50) < 1 for name, whole in (("math", 20), ("code", 20), ("law", 10)))


def test_each_length_has_its_share(load: Load) -> None:
    """Of the rows ordered by length, each tenth gives as many: short ones and long ones alike."""
    numbers = sorted(int(text.lstrip("a").rstrip("x")) for text in texts(load(rows=20, sample="length", by="text")[0]))

    assert Counter(number // 5 for number in numbers) == Counter(dict.fromkeys(range(10), 2))


@pytest.mark.parametrize(
    ("dataset", "counts"),
    [
        ({"rows": 40, "mix": ["b.jsonl"]}, (20, 20)),
        ({"rows": 40, "weight": 3, "mix": ["b.jsonl"]}, (30, 10)),
        ({"mix": [{"path": "b.jsonl", "weight": 2}]}, (15, 30)),
        ({"rows": 20, "sample": "head", "mix": [{"path": "b.jsonl", "split": "train[:10]"}]}, (10, 10)),
    ],
)
def test_a_mixture_has_its_proportions(load: Load, dataset: dict[str, Any], counts: tuple[int, int]) -> None:
    """In proportion to the weights; without `rows`, as many as the smaller dataset allows."""
    train, _, account = load(**dataset)

    assert Counter(text[0] for text in texts(train)) == {"a": counts[0], "b": counts[1]}
    assert [each["rows"] for each in account["datasets"]] == list(counts)


@contextmanager
def without_trainers() -> Iterator[None]:
    """Let a script import TRL and transformers as empty modules: what reads rows needs neither, and they take seconds."""
    parts = {"TrainerCallback": object, "set_seed": None, "SFTConfig": None, "SFTTrainer": None, "AutoTokenizer": None}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("trl", "transformers", "trl.data_utils"):
            module = types.ModuleType(name)
            module.__dict__.update(parts, prepare_multimodal_messages=None)
            patch.setitem(sys.modules, name, module)
        yield


def streamed(count: int, **dataset: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the first texts that a training on streams gets, and the account of them."""
    data = {"path": "a.jsonl", "streaming": True, **dataset}
    job = Job.model_validate({"method": "sft", "model": "m", "dataset": data, "train": {"max_steps": 2}})
    script = render_script(job, name="demo", sources={"prepare.py": MAP})
    module = types.ModuleType("rendered")
    with without_trainers():
        exec(compile(script, "train.py", "exec"), module.__dict__)
    train, _, account = module.load_data()
    return texts(list(islice(train, count))), account


def test_a_mixture_of_streams_uses_all_of_each(place: Path, load: Load) -> None:
    """In proportion to the weights. A short one begins again while the long one goes on; a resumed training gets the same rows."""
    del load  # it is in the folder of the data
    write(place / "long.jsonl", [{"text": f"l{n}", "topic": "law"} for n in range(100)])
    mixed = {"weight": 3, "mix": ["long.jsonl"]}

    rows, account = streamed(600, **mixed)

    assert Counter(text[0] for text in rows)["a"] / len(rows) == pytest.approx(0.75, abs=0.1)
    assert len({text for text in rows if text[0] == "l"}) > 60
    assert account["weights"] == {"a.jsonl": 3.0, "long.jsonl": 1.0}
    assert streamed(600, **mixed)[0] == rows
    assert streamed(600, **mixed, seed=1)[0] != rows


@pytest.mark.long
def test_a_mixture_of_streams_is_limited_and_rewritten(load: Load) -> None:
    """`rows` of both together, again and again; each with the columns of its own dataset."""
    del load  # it is in the folder of the data
    rows, account = streamed(60, mix=["c.jsonl"], map="prepare.py:prepare", rows=30)

    assert account["rows"] == 30
    assert rows[:30] == rows[30:]
    assert {text[0] for text in rows} == {"A", "C"}


def test_a_map_makes_the_columns_of_a_mixture_alike(load: Load) -> None:
    """It gets each row with the columns of its own dataset."""
    train, evaluation, _ = load(mix=["c.jsonl"], map="prepare.py:prepare", eval_fraction=0.1)

    assert len(train) + len(evaluation) == 20
    assert Counter(text[0] for text in texts(train + evaluation)) == {"A": 10, "C": 10}


@pytest.mark.parametrize("first", ["none.jsonl", "a.jsonl"])
def test_a_column_without_values_mixes_with_any(load: Load, place: Path, first: str) -> None:
    """Whether the first dataset has no values, or another one."""
    write(place / "none.jsonl", [{"text": f"n{n}", "topic": None} for n in range(10)])
    others = sorted({"none.jsonl", "a.jsonl", "b.jsonl"} - {first})
    train, _, _ = load(path=first, mix=others)

    assert Counter(text[0] for text in texts(train)) == {"n": 10, "a": 10, "b": 10}
    assert all((row["topic"] is None) == (row["text"][0] == "n") for row in train)


def test_types_of_a_mixture_change_where_they_must(load: Load, place: Path) -> None:
    """To those of the first dataset, as far as the values allow."""
    write(place / "whole.jsonl", [{"text": "w", "topic": n} for n in range(5)])
    write(place / "parts.jsonl", [{"text": "p", "topic": n / 2} for n in range(5)])

    assert max(row["topic"] for row in load(path="parts.jsonl", mix=["whole.jsonl"])[0]) == 4.0
    with pytest.raises(ValueError, match=r"the columns of a\.jsonl have other types than those of whole\.jsonl"):
        load(path="whole.jsonl", mix=["a.jsonl"])


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"rows": 5, "sample": "stratified", "by": "topics"}, "no column 'topics' .* it has text, topic"),
        ({"rows": 70, "mix": ["b.jsonl"]}, "b.jsonl has 30 rows, and its part of 70 would be 35: lower its weight"),
        ({"rows": 5, "mix": [{"path": "b.jsonl", "weight": 0.01}]}, "b.jsonl would give none: its weight is 0.01"),
        (
            {"mix": ["c.jsonl"]},
            "c.jsonl has the columns question; a mixture with a.jsonl needs text, topic",
        ),
    ],
)
def test_what_the_data_cannot_give_is_said(load: Load, dataset: dict[str, Any], message: str) -> None:
    """What, where, how to fix it."""
    with pytest.raises(ValueError, match=message):
        load(**dataset)


@pytest.mark.parametrize("sample", ["stratified", "length"])
def test_a_stream_has_no_strata(sample: str) -> None:
    """Every row would have to be read before the first one is chosen."""
    dataset = {"path": "a.jsonl", "streaming": True, "rows": 5, "sample": sample, "by": "topic"}
    job = Job.model_validate({"method": "sft", "model": "m", "dataset": dataset, "train": {"max_steps": 2}})

    with pytest.raises(UsageError, match=f"`{sample}` looks at every row"):
        render_script(job, name="demo", sources={})


@pytest.mark.parametrize("has_type", [True, False])
def test_rows_with_images_are_not_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, has_type: bool
) -> None:
    """The script says so before it writes, and names Parquet; images may be bytes of no special type."""
    from datasets import Dataset, Image, List

    rows = Dataset.from_dict({"images": [[{"bytes": b"\xff\xd8", "path": None}]]})
    script = rendered()
    script.load_data = lambda: (rows.cast_column("images", List(Image())) if has_type else rows, None, {})
    monkeypatch.setattr(sys, "argv", ["rows.py", "--to", str(tmp_path), "--jsonl"])

    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 65
    assert "Parquet can" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_written_rows_are_read_back(load: Load, place: Path) -> None:
    """By `load_dataset`, as they were, with both splits; the card says how they came to be."""
    dataset = {"rows": 30, "sample": "stratified", "by": "topic", "eval_fraction": 0.2}
    train, evaluation, account = load(**dataset)
    job = Job.model_validate({"method": "sft", "model": "m", "dataset": {"path": "a.jsonl", **dataset}})
    (place / "rows.py").write_text(render_rows_script(job, name="demo", sources={}))
    subprocess.run([sys.executable, "rows.py", "--to", "out", "--jsonl"], cwd=place, check=True)
    from datasets import load_dataset

    back = load_dataset(str(place / "out"))
    assert [*back["train"]] == train
    assert [*back["test"]] == evaluation
    assert f"sha256 {account['sha256']}" in (place / "out" / "README.md").read_text()
    trained, _, later = load(path="./out", eval_split="test")
    assert trained == train
    assert later["prepared"]["chosen"] == account
    assert describe_rows(later).startswith(f"24 rows, all rows; prepared from a.jsonl: {describe_rows(account)}")
    (place / "out" / "rows.json").write_text("[")
    assert load(path="./out")[2]["prepared"] is None


def test_no_file_of_the_working_directory_replaces_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the function that rewrites rows imports is found there all the same."""
    job = Job.model_validate(
        {"method": "sft", "model": "m", "dataset": {"path": "a.jsonl", "map": "prepare.py:prepare"}}
    )
    script = render_rows_script(job, name="demo", sources={"prepare.py": MAP})
    for name in ("datasets.py", "colorsys.py", "words_of_mine.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])

    exec(script[: script.index("from datasets import")], {})

    found = {name: PathFinder.find_spec(name) for name in ("datasets", "colorsys", "words_of_mine")}
    here = {name for name, spec in found.items() if spec and spec.origin and Path(spec.origin).parent == tmp_path}
    assert here == {"words_of_mine"}
