"""The steps that a script knows its training by: after it, they are as many as were requested, and checkpoints go by them.

A script that compares `trainer.state.global_step` with its own number, or loads `checkpoint-1000`, is to find what it would.
"""

import re
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import Any

from ..part_request import PartRequest
from .real_steps import BOUND

NAMED = re.compile(r"\bcheckpoint-(\d+)")


def with_whole_steps(trainer: Any, shown: Any, part_request: PartRequest) -> Any:
    """Name the last checkpoint and the last step as the whole training would.

    Args:
        trainer: One whose training ended.
        shown: What `train` returned.
        part_request: Has the script's text.

    Returns:
        What `train` is to return.
    """
    original: Mapping[str, Any] = getattr(trainer.args, "_holdfast_asked", {})
    last = Path(trainer.args.output_dir, f"checkpoint-{trainer.state.global_step}")
    if trainer.state.global_step < trainer.args.max_steps:  # a callback stopped it
        return shown
    if last.is_dir():
        most = getattr(trainer.args, BOUND, None)
        for number in _saved(original, part_request.source, most or float("inf")):
            other = last.with_name(f"checkpoint-{number}")
            if not other.exists():
                other.symlink_to(last.name, target_is_directory=True)
    steps = int(original.get("max_steps") or 0)
    if steps <= trainer.args.max_steps:
        return shown
    trainer.state.global_step = trainer.state.max_steps = steps
    return shown._replace(global_step=steps) if hasattr(shown, "_replace") else shown


def _saved(requested: Mapping[str, Any], source: str, most: float) -> Iterator[int]:
    """Yield the last step, and those whose checkpoints the script names and nobody can say that there would be none of.

    Args:
        requested: The arguments of a trainer, as they were requested.
        source: The script's text.
        most: The steps that there are at most.
    """
    steps, every = int(requested.get("max_steps") or 0), float(requested.get("save_steps") or 0)
    if steps > 0:
        yield steps
    every = ceil(steps * every) if 0 < every < 1 else every
    known = steps > 0 and requested.get("save_strategy") == "steps" and every > 0
    named = (number for number in map(int, NAMED.findall(source)) if number <= most)
    yield from (number for number in named if not known or (number < steps and not number % every))
