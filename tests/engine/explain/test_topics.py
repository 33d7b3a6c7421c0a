"""Pages about topics."""

import pytest

import holdfast


@pytest.mark.parametrize(
    ("topic", "says"),
    [("memory", ["weights", "gradients", "optimizer", "activations", "WWW"]), ("plan", ["--apply", "timeout", "fits"])],
)
def test_a_topic_fits_one_screen_and_names_what_matters(topic: str, says: list[str]) -> None:
    text = str(holdfast.explain(topic)["about"]["text"])
    assert len(text.splitlines()) <= 36
    assert max(map(len, text.splitlines())) <= 140
    assert all(word in text for word in says)
