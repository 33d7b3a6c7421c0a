"""The commands that a person is offered in each state of a run: each does what it says, as it is."""

import shlex

import pytest

from holdfast.core.run.event import (
    Closed,
    Delivered,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
)
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import fold
from holdfast.engine.run.advice import command_to_try_again, next_commands

ASKED = RunRequested(at_s=0, folder="/runs/a", about=RequestedJob(target="job.yaml", method="sft"))


def pushed(backend: str, **push: str) -> list[Event]:
    return [
        Starting(at_s=1, attempt=1, backend=backend),
        Started(at_s=1, attempt=1, id="1"),
        Reported(at_s=2, attempt=1, said={"event": "push", "repository": "me/m", **push}),
        Polled(at_s=3, attempt=1, answer=Liveness.ENDED, exit_code=0),
        Delivered(at_s=4, repository="me/m", verdict="missing", because="lost"),
        Closed(at_s=5, stage=RunStage.FAILED),
    ]


def commands(*events: Event) -> list[list[str]]:
    return [shlex.split(each.command) for each in next_commands("a", fold([ASKED, *events]))]


@pytest.mark.parametrize("revision", ["", "v2", "a branch"])
def test_a_lost_push_goes_where_it_was_to_go(revision: str) -> None:
    """From its own folder, to its own branch."""
    folder = "/runs/a/final model"
    events = pushed("local", folder=folder, **({"revision": revision} if revision else {}))

    assert commands(*events) == [["hf", "upload", "me/m", folder, *(["--revision", revision] if revision else [])]]


@pytest.mark.parametrize("events", [pushed("hf-jobs", folder="/holdfast/model"), pushed("local")])
def test_what_does_not_lie_here_is_not_offered_to_upload(events: list[Event]) -> None:
    """Its folder was one of another machine, or is not known."""
    assert all(words[0] == "holdfast" for words in commands(*events))


def test_a_run_without_an_attempt_goes_on_unless_it_was_refused() -> None:
    """A person stopped it: nothing was wrong with the job."""
    assert commands(Closed(at_s=1, stage=RunStage.CANCELLED)) == [["holdfast", "resume", "a"]]
    refused = Closed(at_s=1, stage=RunStage.FAILED, refused_by="check")
    assert commands(refused) == [["holdfast", "check", "job.yaml"]]


@pytest.mark.parametrize("refused_by", ["check", "rehearsal"])
@pytest.mark.parametrize("backend", ["local", "hf-jobs"])
def test_a_script_gets_no_keys_of_a_job_file(backend: str, refused_by: str) -> None:
    """But that it is rehearsed for this machine, if it runs here."""
    sets = (f"where.backend={backend}", "where.hardware=a10g-large")
    words = shlex.split(command_to_try_again(RequestedJob(target="t.py", backend=backend, sets=sets), refused_by))

    assert words[2:] in (["t.py"], ["t.py", "--set", "where.backend=local"])
    assert ("--set" in words) == (backend == "local" and refused_by == "rehearsal")
