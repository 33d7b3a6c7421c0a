"""What was left of an attempt in its folder: its guard's record, the stacks of its processes, and how each of them ended."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from holdfast.adapters.foreign_files import read_both_ends, read_foreign_text
from holdfast.core.text.json_text import parse_json
from holdfast.engine.diagnose.attempts import Ending
from holdfast.engine.diagnose.collectives import Collective
from holdfast.engine.diagnose.rank_ends import RankEnd

LOGS: Final = ("stdout.log", "stderr.log")
LAUNCHERS_BYTES: Final = 1 << 17
"""Twice what a launcher prints at most when it ends."""
Written = TypeVar("Written")


def read_ending_of(folder: Path) -> Ending:
    """Return what was left of an attempt in its folder, beside its output."""
    guard_record: dict[str, Any] = {}
    with suppress(OSError, ValueError, TypeError):
        guard_record = dict(parse_json(read_foreign_text(folder / "exit.json")))
    stacks = ""
    ranks = frozenset(number for path in folder.glob("pids/rank-*") if (number := _number_of(path)) is not None)
    with suppress(OSError):
        stacks = read_foreign_text(folder / "stacks.txt")
    return Ending(
        oom_kills=guard_record.get("oom_kills"),
        disk_free_bytes=guard_record.get("disk_free_bytes"),
        stacks=stacks,
        stacks_path=str(folder / "stacks.txt"),
        stacks_of_ranks=dict(_stacks_of_ranks(folder, stacks)),
        collectives=_of_ranks(folder, "collectives", list[Collective]),
        ranks=ranks if len(ranks) > 1 else frozenset(),
        ends=_of_ranks(folder, "end", RankEnd),
        launcher="\n".join(_launchers_words(folder)) if len(ranks) > 1 else "",
    )


def _stacks_of_ranks(folder: Path, first: str) -> Iterator[tuple[int, str]]:
    """Yield the stacks of each rank; those of rank 0 are in a file without a number."""
    others = [path for path in folder.glob("stacks-*.txt") if path.stem.removeprefix("stacks-").isdigit()]
    if others:
        yield 0, first
    for path in sorted(others):
        with suppress(OSError):
            yield int(path.stem.removeprefix("stacks-")), read_foreign_text(path)


def _of_ranks(folder: Path, name: str, kind: type[Written]) -> dict[int, Written]:
    """Return what each rank wrote into a file of this name."""
    found: dict[int, Written] = {}
    for path in folder.glob(f"ranks/{name}-*.json"):
        with suppress(OSError, ValueError):
            if (number := _number_of(path)) is not None:
                found[number] = msgspec.convert(parse_json(read_foreign_text(path)), kind)
    return found


def _number_of(path: Path) -> int | None:
    """Return the rank that ends the name of a file; None if no number does."""
    number = path.stem.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() else None


def _launchers_words(folder: Path) -> Iterator[str]:
    """Yield the ends of an attempt's streams, in which its launcher says whose end it noticed."""
    for name in LOGS:
        with suppress(OSError):
            yield read_both_ends(folder / name, LAUNCHERS_BYTES)
