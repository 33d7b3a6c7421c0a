"""Commands that make sense for a run as it stands."""

from collections.abc import Iterator
from shlex import quote

from holdfast.core.event import RunState, Stage
from holdfast.core.results.run import NextCommand


def next_commands(run: str, state: RunState, *, supervised: bool | None = None) -> list[NextCommand]:
    """Return the commands, the most useful first.

    Args:
        run: The run's name.
        state: How it stands.
        supervised: Whether a process supervises it; None where nobody looked.

    >>> [each.command for each in next_commands("a", RunState(stage=Stage.RUNNING))]
    ['holdfast watch a', 'holdfast stop a']
    """
    return [
        NextCommand(label=label, command=command, effect=effect)
        for label, command, effect in _next(run, state, supervised=supervised)
    ]


def _next(run: str, state: RunState, *, supervised: bool | None) -> Iterator[tuple[str, str, str]]:
    resume = ("continue", f"holdfast resume {run}", "continues from the newest complete checkpoint")
    lost = [found for found in state.deliveries.values() if found.verdict == "missing"]
    if state.stage is Stage.SUCCEEDED:
        return
    if not state.stage.ended:
        if state.attempts and supervised is False:
            yield resume
            return
        yield "watch", f"holdfast watch {run}", "shows its progress"
        yield "stop", f"holdfast stop {run}", "stops it after it saves a checkpoint"
    elif state.stage is Stage.FAILED and lost:
        for found in lost:
            folder = state.pushes.get(found.repository, {}).get("folder") or state.folder
            yield "push it", f"hf upload {found.repository} {folder}", "uploads what is missing"
    elif not state.attempts:
        verb = "rehearse" if state.refused_by == "rehearsal" else "check"
        target = quote(str(state.about.get("target", "job.yaml")))
        yield "try again", f"holdfast {verb} {target}", "shows whether it is fixed"
    else:
        if state.stage is Stage.FAILED:
            yield "why", f"holdfast diagnose {run}", "finds the cause, with the lines that show it"
        yield resume
