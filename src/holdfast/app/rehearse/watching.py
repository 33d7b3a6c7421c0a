"""Rehearsing a job again whenever its author saves a file, with the libraries imported once."""

from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.adapters.changes import read_stamps, wait_for_change
from holdfast.adapters.rehearsal.warm import WarmServer
from holdfast.results.rehearse import RehearseResult


def rehearse_whenever_saved(ask: Callable[..., RehearseResult], target: Path) -> Iterator[RehearseResult]:
    """Yield the result of a rehearsal: now, and whenever a file beside the target has been saved; without end.

    Args:
        ask: `rehearse` with its arguments but `warm`.
        target: The job; its folder is watched, or it, where it is one.
    """
    folder = target if target.is_dir() else target.parent
    with WarmServer() as warm:
        stamps = read_stamps(folder)
        while True:
            yield ask(warm=warm)
            stamps = wait_for_change(folder, stamps)
