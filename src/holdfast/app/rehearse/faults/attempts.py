"""What a part wrote, as an attempt of the job at its full size would have written it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.rehearsal.server import STOOD_STILL
from holdfast.app.rehearse.faults.twin_backend import END, PlayedAttempt, Said
from holdfast.core.rehearse.rehearsal import LearntFigures, PartResult
from holdfast.core.run.training_event import event_of_line

EVENTS: Final = "events.jsonl"
GPU: Final = "a GPU that the rehearsal assumes"


def as_attempt(played: PartResult, folder: Path, learnt: LearntFigures, *, has_gpu: bool) -> PlayedAttempt:
    """Return the attempt that a part is.

    Args:
        played: The part.
        folder: Its folder.
        learnt: The sizes of the job.
        has_gpu: Whether the job has a GPU that the twin did without.
    """
    file = folder / "attempt" / EVENTS
    lines: list[bytes] = []
    if file.is_file():
        with open_foreign(file) as opened:
            lines = opened.read().splitlines()
    asked = [each["arguments"] for each in played.facts("training")]
    said = [*_at_full_size([event_of_line(line) for line in lines], asked, learnt, has_gpu=has_gpu)]
    return PlayedAttempt(
        said=[each for each in said if each["event"] != END],
        end=[each for each in said if each["event"] == END],
        exit_code=played.code,
        stalls=played.over == STOOD_STILL,
    )


def _at_full_size(
    said: Sequence[Said], asked: Sequence[Any], learnt: LearntFigures, *, has_gpu: bool
) -> Iterator[Said]:
    """Yield events with the settings and the sizes of the job itself: remedies are chosen by them."""
    trainings = 0
    for each in said:
        match each["event"]:
            case "start" if asked:
                config = asked[min(trainings, len(asked) - 1)]
                trainings += 1
                yield {**each, "config": config, **({"hardware": [GPU]} if has_gpu else {})}
            case "checkpoint":
                size = learnt.checkpoint_bytes
                yield {**each, "bytes": int(size) if size else None}
            case _:
                yield each
