"""Images as rows hold them: files, bytes, and what is no image."""

import io
import random
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

from holdfast.adapters.rows.images import ImageFacts, read_image


def picture(kind: str = "PNG", size: tuple[int, int] = (20, 10)) -> bytes:
    out = io.BytesIO()
    Image.effect_noise(size, 90).save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_is_read_from_its_path_its_bytes_or_both(tmp_path: Path, kind: str) -> None:
    """Format, width and height, however a row holds it."""
    (tmp_path / "a").write_bytes(picture(kind))
    for held in ("a", picture(kind), {"bytes": picture(kind), "path": None}, {"bytes": None, "path": "a"}):
        assert read_image(held, tmp_path, whole=True) == ImageFacts(kind, 20, 10)


@pytest.mark.parametrize("kind", ["DDS", "PNG"])
def test_whatever_pillow_raises_of_a_damaged_image_is_one_error(kind: str) -> None:
    """Its readers raise NotImplementedError and SyntaxError, among others, beside OSError."""
    whole, dice = picture(kind), random.Random(kind)  # noqa: S311 - damages images, guards nothing
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[dice.randrange(200)] = dice.randrange(256)
        with suppress(ValueError):
            read_image(bytes(damaged[: dice.randrange(20, len(whole))]), Path(), whole=True)


@pytest.mark.parametrize(
    ("held", "because"),
    [
        ("absent.png", "no such file: absent.png"),
        ("https://example.org/a.png", "not fetched"),
        (7, "it is int"),
        ({"bytes": None, "path": None}, "no image"),
        (b"words", "no image that Pillow reads"),
        ("words", "no image that Pillow reads"),
        (picture()[:-40], "truncated"),
    ],
    ids=["absent", "address", "number", "nothing", "bytes", "file", "cut off"],
)
def test_what_is_no_whole_image_is_named(tmp_path: Path, held: object, because: str) -> None:
    """A file that is absent, an address, something else, and an image that was cut off."""
    (tmp_path / "words").write_text("words")
    with pytest.raises(ValueError, match=because):
        read_image(held, tmp_path, whole=True)


def test_an_image_that_is_a_program_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For EPS, Pillow starts Ghostscript: here a stand-in, which would leave a file."""
    started = tmp_path / "started"
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {started}\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    out = io.BytesIO()
    Image.new("RGB", (20, 10)).save(out, "EPS")

    assert read_image(out.getvalue(), tmp_path, whole=True) == ImageFacts("EPS", 20, 10)
    assert not started.exists()


def test_an_image_of_gigabytes_is_not_decoded(tmp_path: Path) -> None:
    """Its header says how large it is; that it is cut off is not found."""
    out = io.BytesIO()
    Image.new("1", (20_000, 8_000)).save(out, "PNG")

    assert read_image(out.getvalue()[:200], tmp_path, whole=True) == ImageFacts("PNG", 20_000, 8_000)
