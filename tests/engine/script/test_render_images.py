"""What a rendered script does with images that a data file names by path."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import holdfast
from holdfast.core.job_file.job import Job
from holdfast.engine.script.render import render_script


def render(path: str, **more: Any) -> str:
    data = {"path": path, **more.pop("data", {})}
    return render_script(
        Job.model_validate({"method": "sft", "model": "m", "dataset": data, **more}), name="j", sources={}
    )


@pytest.mark.parametrize(
    ("path", "more", "finds"),
    [
        ("rows.jsonl", {}, True),
        ("rows.parquet", {}, True),
        ("./photos", {}, True),
        ("acme/photos", {}, False),
        ("rows.jsonl", {"method": "reward"}, False),
        ("rows.jsonl", {"data": {"streaming": True}, "train": {"max_steps": 3}}, False),
    ],
)
def test_only_data_files_and_folders_name_images_by_path(path: str, more: dict[str, Any], *, finds: bool) -> None:
    """Datasets of the Hub hold their images; reward models and streams get none by path."""
    assert ("def with_images" in render(path, **more)) is finds


@pytest.mark.train
@pytest.mark.parametrize("names", [["a.png", "b.png"], ["a.png", None], [["a.png", "b.png"], []]])
def test_paths_become_images_from_the_folder_of_the_file(tmp_path: Path, names: list[Any]) -> None:
    """One per row or a list, wherever the script is run; a row may have none."""
    column = "images" if isinstance(names[0], list) else "image"
    draw(tmp_path)

    rows = load(tmp_path, [{column: each, "text": "x"} for each in names])

    shown = [[image.size for image in each] if isinstance(each, list) else each and each.size for each in rows[column]]
    assert shown == [[(4, 4)] * len(each) if isinstance(each, list) else each and (4, 4) for each in names]


@pytest.mark.train
def test_paths_in_parquet_from_polars_become_images(tmp_path: Path) -> None:
    """Polars writes texts and lists as their large kinds."""
    draw(tmp_path)
    rows = pl.DataFrame({"image": ["a.png", None], "images": [["a.png", "b.png"], []], "text": ["x", "y"]})
    rows.write_parquet(tmp_path / "rows.parquet")

    loaded = execute(tmp_path, tmp_path / "rows.parquet")

    assert [each and each.size for each in loaded["image"]] == [(4, 4), None]
    assert [[each.size for each in images] for images in loaded["images"]] == [[(4, 4), (4, 4)], []]


@pytest.mark.train
def test_in_a_folder_paths_start_there_for_training_and_inspecting_alike(tmp_path: Path) -> None:
    """Also those of data files further below."""
    draw(tmp_path)
    file = tmp_path / "data/train.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps({"image": "a.png", "text": "x"}) + "\n")

    rows = execute(tmp_path, tmp_path)

    assert rows["image"][0].size == (4, 4)
    assert holdfast.inspect(tmp_path, offline=True)["images"]["formats"] == {"PNG": 1}


@pytest.mark.train
@pytest.mark.parametrize(
    ("name", "because"), [("none.png", "not there"), ("https://example.org/a.png", "nothing is fetched")]
)
def test_an_absent_image_and_an_address_are_refused_before_training(tmp_path: Path, name: str, because: str) -> None:
    """With the column and the file, as the data is loaded."""
    with pytest.raises((OSError, ValueError), match=because):
        load(tmp_path, [{"image": name, "text": "x"}])


def draw(folder: Path) -> None:
    """Save two images."""
    from PIL import Image

    for name in ("a.png", "b.png"):
        Image.new("RGB", (4, 4)).save(folder / name)


def load(folder: Path, rows: list[dict[str, Any]]) -> Any:
    """Return rows as the script of a job gives them to the trainer."""
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return execute(folder, file)


def execute(folder: Path, dataset: Path) -> Any:
    """Return the rows of a dataset as the script of a job gives them to the trainer."""
    script = {"__name__": "script", "__file__": str(folder / "script.py")}
    exec(compile(render(str(dataset)), "script.py", "exec"), script)
    load_data: Any = script["load_data"]
    return load_data()[0]
