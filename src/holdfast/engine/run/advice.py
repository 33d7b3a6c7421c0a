"""Commands that make sense in the current state of a run."""

from collections.abc import Iterator
from shlex import quote

from holdfast.core.backends import BACKEND_KEY, DEFAULT_BACKEND
from holdfast.core.event import RunStage
from holdfast.core.requested_job import RequestedJob
from holdfast.core.run_state import RunState
from holdfast.results.run import NextCommand


def next_commands(run: str, state: RunState, *, supervised: bool | None = None) -> list[NextCommand]:
    """Return the commands, the most useful first.

    Args:
        run: The run's name.
        state: Its state.
        supervised: Whether a process supervises it; None if this was not looked up.

    >>> [each.command for each in next_commands("a", RunState(stage=RunStage.RUNNING))]
    ['holdfast watch a', 'holdfast stop a']
    """
    return [
        NextCommand(label=label, command=command, effect=effect)
        for label, command, effect in _next(run, state, supervised=supervised)
    ]


def _next(run: str, state: RunState, *, supervised: bool | None) -> Iterator[tuple[str, str, str]]:
    folder = state.about.runs
    run = f"{quote(run)} --runs {quote(folder)}" if folder else quote(run)
    resume = ("continue", f"holdfast resume {run}", "continues from the newest complete checkpoint")
    lost = [delivery for delivery in state.deliveries.values() if delivery.verdict == "missing"]
    if state.stage is RunStage.SUCCEEDED:
        again = ("export", f"holdfast resume {run}", "makes the export again, without training")
        yield from (again,) if state.lacks_export else ()
        return
    if not state.stage.ended:
        if state.attempts and supervised is False:
            yield resume
            return
        yield "watch", f"holdfast watch {run}", "shows its progress"
        yield "stop", f"holdfast stop {run}", "stops it after it saves a checkpoint"
    elif state.stage is RunStage.FAILED and lost:
        for delivery in lost:
            push = state.pushes.get(delivery.repository)
            folder = (push and push.folder) or state.folder
            yield "push it", f"hf upload {quote(delivery.repository)} {quote(str(folder))}", "uploads what is missing"
    elif not state.attempts:
        yield "try again", command_to_try_again(state.about, state.refused_by), "shows whether it is fixed"
    else:
        if state.stage is RunStage.FAILED:
            yield "why", f"holdfast diagnose {run}", "finds the cause, with the lines that show it"
        yield _accept(run) if state.refused_changes else resume


def _accept(run: str) -> tuple[str, str, str]:
    command = f"holdfast resume {run} --accept-changes"
    return "accept the changes", command, "continues from the checkpoint with the settings of now"


def command_to_try_again(about: RequestedJob, refused_by: str) -> str:
    """Return the command that shows whether a job that was refused is fixed.

    A script is rehearsed for this machine, as `run` does: with an assumed GPU, it might pass.

    >>> command_to_try_again(RequestedJob(target="train.py", backend="local"), "rehearsal")
    'holdfast rehearse train.py --set where.backend=local'
    >>> command_to_try_again(RequestedJob(target="a.yaml", method="sft", sets=("train.max_steps=5",)), "check")
    'holdfast check a.yaml --set train.max_steps=5'
    """
    verb = "rehearse" if refused_by == "rehearsal" else "check"
    here = verb == "rehearse" and not about.method and not any(each.startswith(BACKEND_KEY) for each in about.sets)
    sets = (*about.sets, *([f"{BACKEND_KEY}={about.backend or DEFAULT_BACKEND.name}"] if here else []))
    words = [about.target or "job.yaml", *(word for each in sets for word in ("--set", each))]
    own = ["--", *map(quote, about.arguments)] if about.arguments else []
    return " ".join(("holdfast", verb, *map(quote, words), *own))
