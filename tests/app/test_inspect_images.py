"""`holdfast inspect` of rows with images."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import holdfast
from holdfast.app.inspect import images

CODES = ("DAT247", "DAT248")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Five rows, each with the path of a picture in the folder of the file."""
    (tmp_path / "pictures").mkdir()
    for number in range(5):
        Image.new("RGB", (10 + number, 20), "red").save(tmp_path / f"pictures/{number}.png")
    write(tmp_path / "rows.jsonl", [f"pictures/{number}.png" for number in range(5)])
    return tmp_path / "rows.jsonl"


def write(path: Path, pictures: list[str]) -> None:
    rows = [{"image": each, "messages": turns(number)} for number, each in enumerate(pictures)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def turns(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"What is {number}?"}, {"role": "assistant", "content": f"It is {number}."}]


def problems(answer: Any) -> dict[str, list[int]]:
    return {each["code"]: list(each["rows"]) for each in answer["problems"] if each["code"] in CODES}


def test_formats_and_sizes_are_told(data: Path) -> None:
    """How many images there are, of which format, and how large."""
    answer = holdfast.inspect(data, method="sft", offline=True)

    assert answer["verdict"] == "pass"
    assert answer["images"] == {
        "images": 5,
        "formats": {"PNG": 5},
        "widths": [10, 14],
        "heights": [20, 20],
        "tokens": None,
        "untold": "",
    }


def test_images_that_cannot_be_read_are_named_by_row(data: Path) -> None:
    """An absent file, a file that is no image, one that is cut off, and an address."""
    whole = (data.parent / "pictures/0.png").read_bytes()
    (data.parent / "pictures/2.png").write_text("words")
    (data.parent / "pictures/3.png").write_bytes(whole[:-30])
    write(
        data, ["pictures/none.png", "pictures/1.png", "pictures/2.png", "pictures/3.png", "https://example.org/a.png"]
    )

    answer = holdfast.inspect(data, method="sft", offline=True)

    assert answer["verdict"] == "fail"
    assert problems(answer) == {"DAT247": [0, 2, 3, 4]}
    assert answer["images"]["images"] == 1


def test_check_of_a_job_names_images_that_are_not_there(data: Path) -> None:
    """Their paths start in the folder of the data, as in training."""
    job = data.parent.parent / "job.yaml"
    job.write_text(f"method: sft\nmodel: builtin:tiny-chat\ndataset: {data.relative_to(job.parent)}\n")
    codes = [each["code"] for each in holdfast.check(job, offline=True)["targets"][0]["findings"]]
    assert "DAT247" not in codes
    write(data, ["pictures/0.png", "pictures/none.png"])

    answer = holdfast.check(job, offline=True)["targets"][0]

    assert [each["message"] for each in answer["findings"] if each["code"] == "DAT247"] == [
        "Row 1 has an image in `image` that cannot be read (no such file: pictures/none.png)"
    ]


def test_rows_whose_images_are_longer_than_max_length_are_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor says how many tokens an image takes; it is stood in for, since it needs torch's neighbours."""

    def count(model: str, sizes: list[tuple[int, int]], *, offline: bool) -> list[int]:  # noqa: ARG001 - as the real one
        return [100 * width for _, width in sizes]

    monkeypatch.setattr(images, "count_image_tokens", count)
    (data.parent / "vlm").mkdir()

    answer = holdfast.inspect(data, method="sft", model=str(data.parent / "vlm"), offline=True)
    relaxed = holdfast.inspect(
        data, method="sft", model=str(data.parent / "vlm"), set={"train.max_length": 2000}, offline=True
    )

    assert answer["images"]["tokens"] == [1000, 1400]
    assert problems(answer) == {"DAT248": [1, 2, 3, 4]}
    (what,) = [each["message"] for each in answer["problems"] if each["code"] == "DAT248"]
    assert "have images in `image` with up to 1,400 tokens, more than `max_length` (1,024)" in what
    assert problems(relaxed) == {}


def test_without_pillow_the_install_command_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base install has no Pillow: the rows are inspected all the same."""
    monkeypatch.setattr(images, "has_pillow", lambda: False)

    answer = holdfast.inspect(data, method="sft", offline=True)

    assert answer["verdict"] == "pass"
    assert "vision" in answer["images"]["untold"]


def test_a_check_without_pillow_says_that_images_were_not_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A skip is not a pass."""
    monkeypatch.setattr(images, "has_pillow", lambda: False)
    job = data.parent.parent / "job.yaml"
    job.write_text(f"method: sft\nmodel: builtin:tiny-chat\ndataset: {data.relative_to(job.parent)}\n")

    answer = holdfast.check(job, offline=True)["targets"][0]

    (skipped,) = [each for each in answer["skipped"] if each["code"] == "DAT247"]
    assert "Pillow is not installed" in skipped["because"]
