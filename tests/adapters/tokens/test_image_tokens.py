"""The number of tokens that images become, by a model's own processor."""

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.adapters.tokens import image_tokens
from holdfast.adapters.tokens.image_tokens import count_image_tokens
from holdfast.core.errors import SourceError


def test_a_processor_that_fails_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function that counts is private, and may raise anything: as of a size that is not there."""

    def count(*, image_sizes: list[tuple[int, int]]) -> Any:
        raise KeyError(f"{image_sizes}: shortest_edge")

    processor = SimpleNamespace(_get_num_multimodal_tokens=count)
    monkeypatch.setattr(image_tokens, "_load", lambda model, *, offline: processor)  # noqa: ARG005 - as the real one

    with pytest.raises(SourceError, match="does not report how many tokens an image takes: KeyError"):
        count_image_tokens("acme/sees", [(10, 20)], offline=True)
