"""One point, in a process of its own: made ready, then run when it is its turn.

    python -m benchmarks.memory.measure WORK_FOLDER [--dry] [--history FILE] < POINT_AND_GO

Reads the point as one line of JSON, does what can be done without the card, and waits for another line; then loads, trains,
and prints the measured cells as one line of JSON. `benchmarks/memory_gpu.py` starts it.

bitsandbytes asks for the card's generation while it is imported, and PEFT and transformers import it wherever it is
installed: the process would have a context on the card before its turn, and be counted in another's figures. So it is told
the generation, or is hidden from points that do without, before anything else is imported.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import torch

from benchmarks.memory.cards import CudaCard, NoCard, asked_of_driver
from benchmarks.memory.models import load_models, tiny
from benchmarks.memory.points import Point, needed_packages

BITSANDBYTES: Final = "bitsandbytes"
DRY_LENGTH: Final = 160  # tokens at most, where models are tiny


def prepare_bitsandbytes(point: Point, *, dry: bool) -> None:
    """Import bitsandbytes without touching the card, or have it not be there."""
    if BITSANDBYTES not in needed_packages(point):
        hidden: Any = None  # for the import system: there is no such module
        sys.modules[BITSANDBYTES] = hidden
    elif not dry:
        major, minor = asked_of_driver("compute_cap").split(".")
        with told_of_card((int(major), int(minor))):
            import_module(BITSANDBYTES)


@contextmanager
def told_of_card(capability: tuple[int, int]) -> Iterator[None]:
    """Have torch answer what is asked about the card meanwhile, and not the card itself."""
    answers = {"is_available": True, "device_count": 1, "get_device_capability": capability}
    kept = {name: getattr(torch.cuda, name) for name in answers}
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(torch.cuda, name, function)


def shortened(point: Point) -> Point:
    """Return the point for a dry run: few tokens."""
    return replace(point, length=min(point.length, DRY_LENGTH))


def main() -> int:
    """Measure the point that is given on standard input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--history", type=Path)
    asked = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")  # what libraries print goes where errors go
    os.dup2(2, 1)
    point = Point(**json.loads(sys.stdin.readline()))
    prepare_bitsandbytes(point, dry=asked.dry)
    making, running, trainers = (
        import_module(f"benchmarks.memory.{name}") for name in ("checkpoint", "running", "trainers")
    )
    config = load_models()[point.model].config
    folder = asked.work / ("tiny" if asked.dry else "models") / point.model
    checkpoint = making.make_checkpoint(tiny(config) if asked.dry else config, folder)
    if not sys.stdin.readline():
        return 1
    card = NoCard() if asked.dry else CudaCard(point.card_gib)
    point = shortened(point) if asked.dry else point
    make_trainer = partial(trainers.make_trainer, point, checkpoint, cpu=asked.dry)
    cells = running.measure(point, make_trainer, card, asked.history)
    print(json.dumps(cells | running.versions()), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
