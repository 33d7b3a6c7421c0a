"""Commands that make sense in the current state of a run."""

import shlex
from collections.abc import Iterable, Iterator
from itertools import chain
from shlex import quote

from holdfast.core.run.backends import BACKEND_KEY, LOCAL
from holdfast.core.run.event import RunStage
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import PushStarted
from holdfast.results.run import NextCommand

CommandParts = tuple[str, str, str]
"""What a command does in a word, the command, and its effect."""


def next_commands(run: str, state: RunState, *, supervised: bool | None = None) -> list[NextCommand]:
    """Return the commands, the most useful first.

    Args:
        run: The run's name.
        state: Its state.
        supervised: Whether a process supervises it; None if this was not looked up.

    >>> [each.command for each in next_commands("a", RunState(stage=RunStage.RUNNING))]
    ['holdfast watch a', 'holdfast stop a']
    """
    named = quote(run)
    if state.about.runs:
        named = f"{named} --runs {quote(state.about.runs)}"
    ended = state.stage.ended
    commands = _after_end(named, state) if ended else _before_end(named, state, supervised=supervised)
    return [NextCommand(label=label, command=command, effect=effect) for label, command, effect in commands]


def _before_end(run: str, state: RunState, *, supervised: bool | None) -> Iterator[CommandParts]:
    if state.scheduled:
        listed = f"holdfast runs --on {state.scheduled.backend}"
        yield "jobs", listed, "lists the jobs that it has started, and its next start"
        yield "remove", f"holdfast stop {run}", "removes the schedule"
    elif state.attempts and supervised is False:  # a run that is prepared has no supervisor yet
        yield _resume(run)
    else:
        yield "watch", f"holdfast watch {run}", "shows its progress"
        yield "stop", f"holdfast stop {run}", "stops it after it saves a checkpoint"


def _after_end(run: str, state: RunState) -> Iterable[CommandParts]:
    if state.stage is RunStage.SUCCEEDED:
        again = ("export", f"holdfast resume {run}", "makes the export, without training")
        return (again,) if state.lacks_export else ()
    if pushes := _missing_pushes(state):
        return pushes
    if state.refused_by:
        again = ("try again", command_to_try_again(state.about, state.refused_by), "shows whether it is fixed")
        return (again,)
    return _after_failure(run, state)


def _missing_pushes(state: RunState) -> list[CommandParts]:
    """Return the commands that upload what a failed run of this machine has pushed and is not there."""
    if state.stage is not RunStage.FAILED or state.current is None or state.current.backend != LOCAL.name:
        return []
    lost = (state.pushes.get(name) for name, found in state.deliveries.items() if found.verdict == "missing")
    return [("push it", _upload(push, push.folder), "uploads what is missing") for push in lost if push and push.folder]


def _upload(push: PushStarted, folder: str) -> str:
    revision = ("--revision", push.revision) if push.revision else ()
    return shlex.join(("hf", "upload", push.repository or "", folder, *revision))


def _after_failure(run: str, state: RunState) -> Iterator[CommandParts]:
    if state.stage is RunStage.FAILED:
        yield "why", f"holdfast diagnose {run}", "finds the cause, with the lines that show it"
    yield _accept(run) if state.refused_changes else _resume(run)


def _resume(run: str) -> CommandParts:
    return "continue", f"holdfast resume {run}", "continues from the newest complete checkpoint"


def _accept(run: str) -> tuple[str, str, str]:
    command = f"holdfast resume {run} --accept-changes"
    return "accept the changes", command, "continues from the checkpoint with the settings of now"


def command_to_try_again(about: RequestedJob, refused_by: str) -> str:
    """Return the command that shows whether a job that was refused is fixed.

    A script takes no values of keys. If it runs on this machine, it is rehearsed for it, as `run` does: with an assumed GPU, it might pass.

    >>> command_to_try_again(RequestedJob(target="train.py", backend="local"), "rehearsal")
    'holdfast rehearse train.py --set where.backend=local'
    >>> command_to_try_again(RequestedJob(target="a.yaml", method="sft", sets=("train.max_steps=5",)), "check")
    'holdfast check a.yaml --set train.max_steps=5'
    """
    verb = "rehearse" if refused_by == "rehearsal" else "check"
    here = (f"{BACKEND_KEY}={LOCAL.name}",) if about.backend == LOCAL.name and verb == "rehearse" else ()
    sets = about.sets if about.method else here
    words = [about.target or "job.yaml", *chain.from_iterable(("--set", each) for each in sets)]
    own = ["--", *map(quote, about.arguments)] if about.arguments else []
    return " ".join(("holdfast", verb, *map(quote, words), *own))
