"""The picture of where the memory goes has the figures of `holdfast explain memory`."""

import re
from xml.etree import ElementTree

from holdfast.engine.explain.topics import memory_examples, render_memory
from holdfast.engine.units import render_bytes
from tools.memory_picture import PAGE, draw_memory


def test_the_picture_is_up_to_date() -> None:
    """`python -m tools.memory_picture` draws it anew."""
    assert PAGE.read_text(encoding="utf-8") == draw_memory(memory_examples())


def test_the_bars_add_up_to_what_the_card_must_have() -> None:
    root = ElementTree.fromstring(PAGE.read_text(encoding="utf-8"))  # noqa: S314 - our own file
    texts = [each.text or "" for each in root.iter() if each.tag.endswith("}text")]
    for name, estimate in memory_examples().items():
        assert name in texts
        card = render_bytes(estimate.card.value)
        assert card in texts
        assert re.search(rf"^{re.escape(name)} .*{re.escape(card)}$", render_memory(), re.MULTILINE)
    widths = [float(each.get("width", 0)) for each in root.iter() if each.find("{*}title") is not None]
    ends = [sum(widths[place : place + 5]) for place in range(0, len(widths), 5)]
    cards = [estimate.card.value for estimate in memory_examples().values()]
    for end, card_bytes in zip(ends, cards, strict=True):
        assert abs(end / ends[0] - card_bytes / cards[0]) < 0.01
