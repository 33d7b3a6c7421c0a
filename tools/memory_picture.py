"""Draws where the memory of a training goes, as docs/memory.svg: the figures of `holdfast explain memory`.

python -m tools.memory_picture
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from holdfast.catalog.hub.gpus import load_gpus
from holdfast.core.plan.estimate import MemoryEstimate
from holdfast.engine.explain.topics import COLUMN, MODEL, memory_examples
from holdfast.engine.plan.options import usable_bytes
from holdfast.engine.units import render_bytes

PAGE: Final = Path(__file__).parents[1] / "docs" / "memory.svg"
COLOURS: Final[Mapping[str, str]] = {
    "weights": "#5b86b0",
    "gradients": "#a77aa6",
    "optimizer": "#4c9a94",
    "activations": "#dcae52",
    "rest": "#9aa59f",
}
GPUS: Final = ("a10g", "l40s", "a100", "h200")
"""GPUs whose memory is marked."""
LEFT, RIGHT, TOP, BAR, GAP = 170, 90, 74, 30, 16
WIDTH: Final = 860
SMALLEST: Final = 24
"""Width of a part, in pixels, from which on its size is written into it."""
FONT: Final = "font-family='system-ui, sans-serif' fill='#17211d'"


def draw_memory(estimates: Mapping[str, MemoryEstimate]) -> str:
    """Return the picture: a bar for each way of training, and a line for the memory of each GPU."""
    height = TOP + len(estimates) * (BAR + GAP) + GAP
    largest = max(estimate.card.value for estimate in estimates.values())
    scale = (WIDTH - LEFT - RIGHT) / largest
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' font-size='13' role='img' aria-label='{_summary(estimates)}'>",
        f"<rect width='{WIDTH}' height='{height}' fill='#fcfcfa'/>",
        f"<text x='12' y='22' {FONT} font-weight='600'>{MODEL}, 4 rows of 2048 tokens, with checkpoints: what the card must have</text>",
        *_legend(),
        *_cards(scale, height),
        *(line for place, (name, each) in enumerate(estimates.items()) for line in _bar(name, each, place, scale)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _summary(estimates: Mapping[str, MemoryEstimate]) -> str:
    sizes = "; ".join(f"{name}: {render_bytes(each.card.value)}" for name, each in estimates.items())
    return f"The memory that a card must have to train {MODEL}. {sizes}."


def _legend() -> Iterator[str]:
    for place, (name, colour) in enumerate(COLOURS.items()):
        x = LEFT + place * 110
        yield f"<rect x='{x}' y='36' width='12' height='12' rx='2' fill='{colour}'/>"
        yield f"<text x='{x + 18}' y='47' {FONT}>{name}</text>"


def _cards(scale: float, height: int) -> Iterator[str]:
    for name in GPUS:
        x = LEFT + scale * usable_bytes(load_gpus()[name])
        yield f"<path d='M{x:.1f} {TOP - 6}V{height - 8}' stroke='#5b6862' stroke-dasharray='3 3'/>"
        yield f"<text x='{x:.1f}' y='{TOP - 10}' {FONT} font-size='11' text-anchor='middle'>{name}</text>"


def _bar(name: str, estimate: MemoryEstimate, place: int, scale: float) -> Iterator[str]:
    """Yield a bar with its parts, from the left."""
    y, x = TOP + GAP + place * (BAR + GAP), float(LEFT)
    terms = (*estimate.peak.terms, *estimate.beside)
    yield f"<text x='{LEFT - 12}' y='{y + 20}' {FONT} text-anchor='end'>{name}</text>"
    for part, names in COLUMN.items():
        size = sum(term.bytes for term in terms if term.name in names)
        width = scale * size
        yield f"<rect x='{x:.1f}' y='{y}' width='{width:.1f}' height='{BAR}' fill='{COLOURS[part]}'><title>{part}: {render_bytes(size)}</title></rect>"
        if width >= SMALLEST:
            yield f"<text x='{x + width / 2:.1f}' y='{y + 20}' font-family='system-ui, sans-serif' fill='#fff' text-anchor='middle'>{size / 1e9:.0f}</text>"
        x += width
    yield f"<text x='{x + 8:.1f}' y='{y + 20}' {FONT} font-weight='600'>{render_bytes(estimate.card.value)}</text>"


if __name__ == "__main__":
    PAGE.write_text(draw_memory(memory_examples()), encoding="utf-8")
