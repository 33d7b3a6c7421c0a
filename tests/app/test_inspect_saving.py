"""Rows that are kept: `inspect --save` prepares them as the training would, and prepares them again only if something has changed."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from holdfast.adapters.storage import file_digests
from holdfast.app.inspect import saving
from holdfast.app.inspect.verb import inspect
from holdfast.cli.text.inspection import render_inspect
from holdfast.core.errors import UsageError
from holdfast.results.inspect import InspectResult

WORDS = "def shout(text):\n    return text.upper()\n"
MAP = "import words\n\ndef upper(row):\n    return {'prompt': words.shout(row['prompt']), 'completion': row['completion']}\n"
JOB = """
method: sft
model: builtin:tiny-chat
dataset: {path: sums.jsonl, rows: 30, sample: stratified, by: topic, eval_fraction: 0.2, map: "prepare.py:upper"}
"""
Save = Callable[..., InspectResult]


@pytest.fixture(name="save")
def saver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Save:
    """Keep the rows of a small job in `kept`."""
    rows = [{"prompt": f"a{n}", "completion": f" {n}", "topic": "even" if n % 3 else "odd"} for n in range(60)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prepare.py").write_text(MAP)
    (tmp_path / "words.py").write_text(WORDS)
    (tmp_path / "job.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)

    def save(*sets: str, jsonl: bool = False) -> InspectResult:
        return inspect("job.yaml", save="kept", set=sets, jsonl=jsonl, offline=True)

    return save


@pytest.fixture(name="scripts")
def stub_writer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scripts that would prepare rows, of which there is one, whatever the script."""
    scripts: list[str] = []

    def write(_words: object, script: str, folder: Path, options: Sequence[str], _variables: object) -> None:
        scripts.append(script)
        folder.mkdir(exist_ok=True)
        for split in ("train", "test"):
            (folder / f"{split}.jsonl").write_text('{"prompt": "a", "completion": " b"}\n')
        record: dict[str, object] = {
            "made_by": "holdfast",
            "key": options[1],
            "sources": [],
            "map": None,
            "chosen": {},
            "files": {},
        }
        (folder / "rows.json").write_text(json.dumps({**record, "datasets": "5"}))

    monkeypatch.setattr(saving, "write_rows", write)
    return scripts


def keep(job: str = "job.yaml", *sets: str) -> None:
    """Keep the rows of a job, without looking at them."""
    saving.save_rows(job, sets, Path("kept"), jsonl=False, offline=True)


def written(place: Path) -> int:
    """When the rows were written, in ns."""
    return (place / "kept" / "train.parquet").stat().st_mtime_ns


def test_rows_are_prepared_once_and_read_back(save: Save, tmp_path: Path) -> None:
    """Rewritten and chosen as in training; the second call keeps the files, and the folder tells how they came to be."""
    first, at = save(), written(tmp_path)
    again = save()
    back = inspect("kept", offline=True)

    assert written(tmp_path) == at
    assert first.dataset.columns == {"prompt": "string", "completion": "string"}
    assert [each.prepared and each.prepared.saved for each in (first, again, back)] == ["written", "kept", None]
    assert "written now: prepared from sums.jsonl" in render_inspect(first)
    assert "kept, since nothing has changed: prepared from sums.jsonl" in render_inspect(again)
    assert back.prepared is not None
    assert back.prepared.rows == {"train": 24, "test": 6}
    assert back.prepared.chosen["strata"] == {"even": 20, "odd": 10}
    assert back.prepared.rewritten_by is not None
    assert back.prepared.changed == []


@pytest.mark.long
@pytest.mark.parametrize("change", ["map", "data", "seed", "damage"])
def test_what_has_changed_is_prepared_again(save: Save, tmp_path: Path, change: str) -> None:
    """The function's file, the data, a setting, and a file that was damaged since."""
    before, at = save(), written(tmp_path)
    match change:
        case "map":
            (tmp_path / "prepare.py").write_text(MAP.replace("words.shout(row['prompt'])", "row['prompt']"))
        case "data":
            (tmp_path / "sums.jsonl").write_text((tmp_path / "sums.jsonl").read_text().replace("a1", "b1"))
        case "damage":
            (tmp_path / "kept" / "train.parquet").write_bytes(b"damaged")
        case _:
            pass
    after = save(*(["dataset.seed=7"] if change == "seed" else []))

    assert written(tmp_path) != at
    assert before.prepared is not None
    assert after.prepared is not None
    assert (before.prepared.chosen["sha256"] == after.prepared.chosen["sha256"]) == (change == "damage")


@pytest.mark.long
def test_a_function_that_fails_leaves_what_was_there(save: Save, tmp_path: Path) -> None:
    """Its last line is shown, and the earlier rows are still whole."""
    save()
    (tmp_path / "prepare.py").write_text("def upper(row):\n    raise ValueError('no such word')\n")

    with pytest.raises(UsageError, match=r"the rows cannot be prepared: .*no such word"):
        save()
    prepared = inspect("kept", offline=True).prepared
    assert prepared is not None
    assert prepared.changed == []
    assert sorted({path.name for path in tmp_path.iterdir()} - {"__pycache__"}) == [
        "job.yaml",
        "kept",
        "prepare.py",
        "sums.jsonl",
        "words.py",
    ]


def test_a_folder_of_something_else_is_not_replaced(save: Save, tmp_path: Path) -> None:
    """Whatever it is, it is not holdfast's."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "thesis.txt").write_text("years of work")

    with pytest.raises(UsageError, match="does not hold rows that holdfast prepared"):
        save()
    assert (tmp_path / "kept" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("sums.jsonl", {"save": "kept"}, "data"),
        ("job.yaml", {"jsonl": True}, "--jsonl is for rows that are kept"),
        (
            "job.yaml",
            {"save": "kept", "set": ["dataset.streaming=true", "train.max_steps=3", "dataset.eval_fraction="]},
            "stream",
        ),
    ],
)
@pytest.mark.usefixtures("save")
def test_what_cannot_be_kept_is_refused(data: str, more: dict[str, object], message: str) -> None:
    """With the reason."""
    with pytest.raises(UsageError, match=message):
        inspect(data, offline=True, **more)  # type: ignore[arg-type]


@pytest.mark.usefixtures("save")
def test_options_about_the_data_decide_what_is_prepared(scripts: list[str]) -> None:
    """As they do without `--save`; a name that looks like a number stays one."""
    sets = ["dataset.split=test"]
    result = inspect("job.yaml", split="train[:50%]", config="2024", set=sets, save="kept", offline=True)

    assert [line for line in scripts[0].splitlines() if line.startswith(("CONFIG", "SPLIT"))] == [
        'CONFIG = "2024"',
        'SPLIT = "train[:50%]"',
    ]
    assert (result.dataset.path, result.dataset.split) == ("kept", "train")


@pytest.mark.parametrize("place", [".", "jobs"])
@pytest.mark.usefixtures("save")
def test_a_module_in_the_working_directory_counts(tmp_path: Path, scripts: list[str], place: str) -> None:
    """The function's file is here, or beside a job in another folder; what it imports from here decides its rows."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "job.yaml").rename(tmp_path / "jobs" / "job.yaml")
    (tmp_path / "prepare.py").unlink()
    (tmp_path / place / "prepare.py").write_text(f"import helpers\n{MAP}")
    counts = []
    for text in ("WORD = 1\n", "WORD = 1\n", "WORD = 2\n"):
        (tmp_path / "helpers.py").write_text(text)
        keep("jobs/job.yaml")
        counts.append(len(scripts))

    assert counts == [1, 1, 2]


@pytest.mark.parametrize("place", ["prep", "{here}/prep"])
@pytest.mark.usefixtures("save")
def test_a_function_in_another_folder_imports_from_the_working_directory(
    tmp_path: Path, scripts: list[str], place: str
) -> None:
    """What lies beside its file is not imported."""
    (tmp_path / "prep").mkdir()
    (tmp_path / "prepare.py").rename(tmp_path / "prep" / "prepare.py")
    (tmp_path / "job.yaml").write_text(JOB.replace("prepare.py", f"{place.format(here=tmp_path)}/prepare.py"))
    counts = []
    for beside, here in ((1, 1), (2, 1), (2, 2)):
        (tmp_path / "prep" / "words.py").write_text(f"WORD = {beside}\n")
        (tmp_path / "words.py").write_text(f"WORD = {here}\n")
        keep()
        counts.append(len(scripts))

    assert counts == [1, 1, 2]


@pytest.mark.usefixtures("save")
def test_a_change_anywhere_in_large_data_counts(
    tmp_path: Path, scripts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deep in a file of which other digests read parts alone, and in the last of many files."""
    monkeypatch.setattr(file_digests, "WHOLE_BYTES", 100)
    monkeypatch.setattr(file_digests, "PART_BYTES", 2)
    monkeypatch.setattr(file_digests, "MOST_FILES", 1)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.jsonl").write_text("{}")
    (folder / "b.jsonl").write_text("x" * 1_000)
    counts = []
    for text in ("x" * 1_000, "x" * 1_000, "y" + "x" * 999, "y" + "x" * 8 + "y" + "x" * 990):
        (folder / "b.jsonl").write_text(text)
        keep("job.yaml", "dataset.path=data")
        counts.append(len(scripts))

    assert counts == [1, 1, 2, 3]
