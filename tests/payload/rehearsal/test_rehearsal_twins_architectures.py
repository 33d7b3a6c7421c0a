"""A twin is its original in all but size: for each released architecture, all that a training asks of a model works."""

from typing import Any

import pytest

from tests.helpers.architectures import ALL, SIGHTED
from tests.helpers.children import Answer, ask_each
from tests.helpers.rehearsed_images import IMAGES
from tests.helpers.sampling import asked, sampled

NAMES = sampled(ALL, every=30)
MOST_BESIDES_VOCABULARY = 50_000_000  # parameters


@pytest.fixture(scope="module", name="tried")
def all_tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    folder = tmp_path_factory.mktemp("rehearsal") / "of"
    return ask_each("rehearsed_twins", [{"name": name, "folder": str(folder)} for name in sorted(asked(request))])


pytestmark = pytest.mark.train


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_is_its_original_in_all_but_size(name: str, tried: dict[str, Any]) -> None:
    twin = tried[name]
    assert twin["refused"] is None
    assert twin["names"] == [[], []], "modules are named as the original's, so adapters find theirs"
    assert twin["after"] == twin["before"], "vocabulary, tokens, ratios and kinds of layers stay"
    assert twin["parameters"] == twin["told"], "the original's size is told"
    assert twin["twin"] < min(MOST_BESIDES_VOCABULARY, twin["parameters"] / 3)
    assert twin["step"] == {"finite": True, "moves": True}
    assert twin["generates"]
    assert twin["same"], "what is saved loads again as it was"
    if name in IMAGES:
        assert twin["image"] == {"finite": True, "moves": True}


def test_nearly_all_that_see_are_shown_an_image() -> None:
    assert set(IMAGES) <= set(SIGHTED)
    assert len(IMAGES) >= 15
