"""Which points are measured, and in which order: the most telling first, for a lent card may be taken back."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, cycle
from typing import Any, Final

from benchmarks.memory.models import Model, load_models
from benchmarks.memory.points import COMPLETION, STEPS, Point

SEED: Final = 20
SPREAD: Final = 72  # points that vary everything at once
CARD_GIB: Final = 130  # of the card that measures, a little less than an H200 has
POINT_S: Final = 25  # longest estimated time of a point
BASE: Final = Point("qwen3-1.7b", batch=4)

LENGTHS: Final = {
    Point("qwen2.5-0.5b", tuning="full", weights="float32"): (512, 2048, 8192),
    Point("qwen3-1.7b"): (512, 1024, 4096, 8192, 16384),
    Point("llama-3.2-1b", tuning="full"): (512, 2048, 8192),
    Point("llama-3.1-8b", tuning="qlora", batch=1): (1024, 4096, 16384),
    Point("gemma-3-1b"): (512, 2048, 8192),
    Point("phi-4-mini"): (512, 2048, 8192),
    Point("olmoe-1b-7b", batch=1): (1024, 4096),
    Point("qwen2.5-0.5b", method="dpo"): (512, 2048, 8192),
    Point("qwen3-0.6b", method="grpo", batch=8): (512, 2048, 8192),
}
# One thing at a time is changed of BASE, the first that is not the usual.
CHANGES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"checkpointing": False},
    {"weights": "float32"},
    {"tuning": "full"},
    {"tuning": "qlora"},
    {"rows": "padded"},
    {"method": "dpo"},
    {"method": "grpo"},
    {"attention": "eager"},
    {"batch": 1},
    {"batch": 16},
    {"expandable": False},
    {"accumulation": 4},
    {"tuning": "full", "optimizer": "adamw_torch"},
    {"tuning": "full", "optimizer": "adamw_bnb_8bit"},
    {"tuning": "full", "weights": "float32"},
    {"tuning": "full", "weights": "float32", "expandable": False},
    {"tuning": "full", "method": "dpo"},
    {"rows": "packed"},
    {"evaluation": True},
    {"autocast": False},
    {"weights": "float32", "autocast": False},
    {"weights": "float32", "checkpointing": False},
    {"attention": "flash_attention_2"},
    {"attention": "flash_attention_2", "rows": "packed"},
)
HISTORIES: Final = (
    Point("qwen2.5-0.5b", length=1024, history=True),
    Point("qwen2.5-0.5b", tuning="full", weights="float32", length=1024, history=True),
    Point("llama-3.2-1b", method="dpo", length=1024, history=True),
    Point("gemma-3-270m", method="grpo", length=512, batch=4, history=True),
    Point("granite-3.1-1b-a400m", length=1024, history=True),
    Point("qwen3-0.6b", tuning="qlora", length=1024, history=True),
)
# Cards that are smaller than what the run would like: where it fits after all, and where not.
CARDS: Final = (
    Point("llama-3.1-8b", tuning="qlora", length=4096, card_gib=16),
    Point("llama-3.1-8b", tuning="qlora", length=8192, card_gib=24),
    Point("qwen3-8b", length=4096, card_gib=24),
    Point("qwen3-8b", length=4096, card_gib=24, expandable=False),
    Point("qwen2.5-3b", tuning="full", length=2048, card_gib=24),
    Point("qwen2.5-3b", tuning="full", length=2048, card_gib=40),
    Point("llama-3.2-3b", method="dpo", length=4096, card_gib=16),
    Point("phi-4-mini", length=8192, card_gib=24, expandable=False),
)
# What the spread draws from; each level comes about as often as any other of its row.
LEVELS: Final[Mapping[str, tuple[Any, ...]]] = {
    "method": ("sft", "sft", "dpo", "grpo"),
    "tuning": ("full", "lora", "lora", "qlora"),
    "weights": ("float32", "bfloat16", "bfloat16"),
    "length": (512, 1024, 2048, 4096, 8192, 12288),
    "batch": (1, 2, 4, 8, 16),
    "rows": ("constant", "constant", "padded", "packed"),
    "checkpointing": (True, True, False),
    "attention": ("sdpa", "sdpa", "sdpa", "eager"),
    "optimizer": ("adamw_torch_fused", "adamw_torch_fused", "adamw_torch", "adamw_bnb_8bit"),
    "expandable": (True, True, False),
    "evaluation": (False, False, True),
}


def grid() -> tuple[Point, ...]:
    """Return all points, in the order in which they are measured.

    >>> len(grid()) == len(set(grid()))
    True
    """
    changed = [replace(BASE, **change) for change in CHANGES]
    lengths = [replace(point, length=length) for point, lengths in LENGTHS.items() for length in lengths]
    ordered = (*changed[:6], *HISTORIES, *_dealt(changed[6:], lengths, CARDS, [*spread()]))
    return tuple(dict.fromkeys(ordered))


def spread(count: int = SPREAD) -> Iterator[Point]:
    """Yield points in which everything varies at once, evenly over models and levels."""
    draw = random.Random(SEED)  # noqa: S311 - a fixed order, no secret
    columns = {name: _even(levels, count, draw) for name, levels in LEVELS.items()}
    models = _even(tuple(load_models()), count, draw)
    for place, model in enumerate(models):
        yield within_reach(sensible(Point(model, **{name: column[place] for name, column in columns.items()})))


def sensible(point: Point) -> Point:
    """Return the point with what nobody combines, or no trainer takes, replaced by the usual."""
    changes: dict[str, Any] = {}
    if point.tuning == "qlora":
        changes |= {"weights": "bfloat16"}
    if point.tuning != "full" and point.optimizer == "adamw_torch":
        changes |= {"optimizer": "adamw_torch_fused"}
    if point.method != "sft" and point.rows == "packed":
        changes |= {"rows": "constant"}
    if point.method == "grpo":  # groups of completions; evaluation would generate anew
        changes |= {"batch": max(point.batch, 4), "rows": "constant", "evaluation": False}
    return replace(point, **changes)


def within_reach(point: Point) -> Point:
    """Return the point with its batch, then its length halved until it should fit the card and the time."""
    smallest = 4 if point.method == "grpo" else 1
    while rough_bytes(point) > CARD_GIB * 2**30 or rough_seconds(point) > POINT_S:
        if point.batch > smallest:
            point = replace(point, batch=point.batch // 2)
        elif point.length > 512:  # noqa: PLR2004 - the shortest that is measured
            point = replace(point, length=point.length // 2)
        else:
            break
    return point


def rough_bytes(point: Point) -> float:
    """Return about what a point needs: good enough to leave out what cannot fit, and for nothing else."""
    model = load_models()[point.model]
    width = {"float32": 4, "bfloat16": 2}[point.weights]
    trained = model.parameters if point.tuning == "full" else 0.02 * model.parameters
    held = 0.7 * model.parameters if point.tuning == "qlora" else width * model.parameters
    reference = held if point.method == "dpo" and point.tuning == "full" else 0
    states = trained * (4 * width if point.tuning == "full" else 16)
    return held + reference + states + _activation_bytes(point, model) + 2**30


def rough_seconds(point: Point) -> float:
    """Return about how long a point takes: loading, four steps, and what GRPO generates."""
    model = load_models()[point.model]
    passes = 3 + point.checkpointing + 2 * (point.method != "sft")
    operations = 2 * passes * point.tokens * _active(model) * (1 if point.autocast else 8)
    generated = float(COMPLETION * model.config["num_hidden_layers"] * 1.2e-3) if point.method == "grpo" else 0
    return 3 + 4 * model.parameters / 4e9 + STEPS * (0.2 + operations / 2.5e14 + generated)


def _active(model: Model) -> float:
    """Return about how many parameters a token meets."""
    experts = model.config.get("num_experts") or model.config.get("num_local_experts")
    return (0.2 if experts else 1.0) * model.parameters


def _activation_bytes(point: Point, model: Model) -> float:
    """Return about what is kept for the backward pass, and what its widest layer needs on top."""
    config = model.config
    tokens = point.sequences * point.length
    width, layers = config["hidden_size"], config["num_hidden_layers"]
    inner = config["intermediate_size"] * config.get("num_experts_per_tok", 1)
    layer = tokens * (20 * width + 10 * inner) * (1.4 if point.weights == "float32" else 1)
    if point.attention == "eager" or point.rows == "packed":
        square = (tokens if point.rows == "packed" else point.length) * tokens
        layer += 12 * config["num_attention_heads"] * square if point.attention == "eager" else 4 * square
    kept = 4 * width * tokens * layers if point.checkpointing else layer * layers
    return float(kept + 2 * layer + 12 * width * tokens)


def _even(levels: tuple[Any, ...], count: int, draw: random.Random) -> list[Any]:
    """Return `count` levels, each as often as any other, in a drawn order."""
    drawn = [level for _, level in zip(range(count), cycle(levels), strict=False)]
    draw.shuffle(drawn)
    return drawn


def _dealt(*hands: Any) -> Iterator[Point]:
    """Yield points so that every hand is played out at the same time."""
    places = chain.from_iterable(
        (((place + 0.5) / len(hand), point) for place, point in enumerate(hand)) for hand in hands
    )
    return (point for _, point in sorted(places, key=lambda pair: pair[0]))
