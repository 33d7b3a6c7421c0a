"""The steps that a script knows its training by: after it, they are as many as were requested, and checkpoints go by them.

A script that compares `trainer.state.global_step` with its own number, or loads `checkpoint-1000`, is to find what it would.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
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
    requested: Mapping[str, Any] = getattr(trainer.args, "_holdfast_asked", {})
    last = Path(trainer.args.output_dir, f"checkpoint-{trainer.state.global_step}")
    if trainer.state.global_step < trainer.args.max_steps:  # a callback stopped it
        return shown
    if last.is_dir():
        most = getattr(trainer.args, BOUND, None) or float("inf")
        _link(last, _saved(requested, part_request.source, most))
    steps = _steps(requested)
    if steps <= trainer.args.max_steps:
        return shown
    trainer.state.global_step = trainer.state.max_steps = steps
    return shown._replace(global_step=steps) if hasattr(shown, "_replace") else shown


def _link(checkpoint: Path, steps: Iterable[int]) -> None:
    """Let a checkpoint be found by the names of other steps."""
    for step in steps:
        with suppress(FileExistsError):  # of an attempt before, or of another process
            checkpoint.with_name(f"checkpoint-{step}").symlink_to(checkpoint.name, target_is_directory=True)


def _saved(requested: Mapping[str, Any], source: str, most: float) -> Iterator[int]:
    """Yield the last step, and those whose checkpoints the script names and the whole training may save.

    Args:
        requested: The arguments of a trainer, as they were requested.
        source: The script's text.
        most: The steps that there are at most.
    """
    steps, every = _steps(requested), _interval(requested)
    if steps > 0:
        yield steps
    for number in map(int, NAMED.findall(source)):
        if number <= most and _may_be_saved(number, steps, every):
            yield number


def _may_be_saved(number: int, steps: int, every: float) -> bool:
    return not every or (number < steps and not number % every)


def _steps(requested: Mapping[str, Any]) -> int:
    return int(requested.get("max_steps") or 0)


def _interval(requested: Mapping[str, Any]) -> float:
    """Return the steps from one checkpoint to the next; 0 if they are not known."""
    steps, every = _steps(requested), float(requested.get("save_steps") or 0)
    if steps <= 0 or requested.get("save_strategy") != "steps":
        return 0.0
    return ceil(steps * every) if 0 < every < 1 else max(0.0, every)
