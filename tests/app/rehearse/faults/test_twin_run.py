"""A run of the twin: the supervisor of real runs decides what follows a fault, and no time passes meanwhile."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.rehearsal.server import STOOD_STILL
from holdfast.app.rehearse.faults.twin_run import TwinJob, TwinRun
from holdfast.cli.text.faults import render_faults
from holdfast.core.rehearse.rehearsal import LearntFigures, PartResult
from holdfast.core.run.event import RunStage
from holdfast.core.run.plan import Plan
from holdfast.core.run.requested_job import RequestedJob
from holdfast.engine.faults.judging import FaultyRun, judge_fault
from holdfast.engine.faults.kinds import kinds_of
from holdfast.payload.rehearsal.part_request import PartRequest
from tests.helpers.checkpoints import save_checkpoint

STACK = """\
Current thread 0x00007f (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 355 in wait
  File "/home/me/holdfast/payload/rehearsal/trainers/faults.py", line 63 in before_step
  File "/v/site-packages/transformers/trainer.py", line 2674 in _inner_training_loop
  File "train.py", line 14 in <module>
"""


def steps(*numbers: int) -> Iterator[dict[str, Any]]:
    for number in numbers:
        yield {
            "event": "step",
            "step": number,
            "max_steps": 8,
            "loss": 3.0 - number / 10,
            "activity": "step",
            "idle_s": 0.1,
        }


def leave(folder: Path, *events: dict[str, Any], saved: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Leave the events and the checkpoints of a part in its folder."""
    out = folder / "written" / "out"
    told = [
        {"event": "checkpoint", "step": step, "path": str(save_checkpoint(out, step)), "bytes": 9} for step in saved
    ]
    lines = [{"event": "start", "max_steps": 8, "config": {"per_device_train_batch_size": 2}}, *events, *told]
    (folder / "attempt").mkdir(parents=True)
    (folder / "attempt" / "events.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return lines


def make_run(
    folder: Path, fault: str, first: PartResult, plan: Plan, asked: list[PartRequest] | None = None
) -> TwinRun:
    """A run whose first attempt is given; those that follow come to their end."""

    def play(request: PartRequest) -> PartResult:
        if asked is not None:
            asked.append(request)
        end = {"event": "end", "status": "finished", "because": "reached max_steps"}
        leave(Path(request.folder), *steps(5, 6, 7, 8), end)
        return PartResult(part="resume", code=0)

    shared = PartRequest(script="train.py", source="", folder=str(folder), gpu="none")
    job = TwinJob(plan=plan, about=RequestedJob(job="train"), part_request=shared, learnt=LearntFigures())
    return TwinRun(job=job, kind=kinds_of([fault])[0], first=first, play=play)


PLAN = Plan(name="train", script="", script_name="train.py", cwd="/", attempts=3)


def test_a_stall_is_ended_by_the_watch_on_progress(tmp_path: Path) -> None:
    """It takes twenty minutes of the simulated clock; frames of holdfast's own are no place of the user's."""
    leave(tmp_path / "stall" / "stop", *steps(1, 2, 3, 4), saved=(2, 4))
    first = PartResult(part="stop", code=None, over=STOOD_STILL, stacks=STACK)
    asked: list[PartRequest] = []
    run = make_run(tmp_path, "stall", first, PLAN, asked)

    state = run.supervise()

    assert state.stage is RunStage.SUCCEEDED
    assert state.attempts[0].diagnosed is not None
    assert state.attempts[0].diagnosed.name == "training-stalled"
    assert "threading.py:355" in state.attempts[0].diagnosed.where
    assert "before_step" not in state.attempts[0].diagnosed.where
    assert [Path(each.resume).name for each in asked] == ["checkpoint-4"]
    assert asked[0].before == str(tmp_path / "stall" / "stop")


def test_a_killed_run_is_resumed_when_a_person_asks(tmp_path: Path) -> None:
    """On this machine a signal is taken for a person's. Of the checkpoints, the damaged one is passed over."""
    leave(tmp_path / "kill" / "stop", *steps(1, 2, 3, 4), saved=(2, 4))
    (tmp_path / "kill" / "stop" / "written" / "out" / "checkpoint-4" / "optimizer.pt").write_text("cut")
    asked: list[PartRequest] = []
    run = make_run(tmp_path, "kill", PartResult(part="stop", code=-9), PLAN, asked)

    closed = run.supervise()
    assert (closed.stage, len(closed.attempts)) == (RunStage.FAILED, 1)
    assert run.newest_checkpoint()[0] == str(tmp_path / "kill" / "stop" / "written" / "out" / "checkpoint-2")

    resumed = run.supervise()
    assert resumed.stage is RunStage.SUCCEEDED
    assert [Path(each.resume).name for each in asked] == ["checkpoint-2"]
    assert "checkpoint-4" in resumed.attempts[1].passed_over[0]


LAUNCHER = "failed (exitcode: -9) local_rank: {rank} (pid: 43) of fn: _play_rank (start_method: fork)"
LOST = "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:3111"


@pytest.mark.parametrize(("killed", "struck", "is_cause"), [(1, 1, True), (0, 0, True), (0, 1, False), (1, None, True)])
def test_the_process_that_was_killed_is_named(tmp_path: Path, killed: int, struck: int | None, is_cause: bool) -> None:
    """Of two, by what their launcher printed. Another one than the fault struck is a wrong diagnosis."""
    folder = tmp_path / "kill" / "stop"
    leave(folder, *steps(1, 2, 3, 4), saved=(2, 4))
    end = {"at": 9.0, "status": "failed", "reason": "exception", "because": LOST}
    for name, text in (
        ("pids/rank-0", "41"),
        ("pids/rank-1", "43"),
        (f"ranks/end-{1 - killed}.json", json.dumps(end)),
    ):
        (path := folder / "attempt" / name).parent.mkdir(exist_ok=True)
        path.write_text(text)
    fault = {"event": "fact", "about": "fault", "at": 9.0, "step": 5, "rank": struck}
    first = PartResult(
        part="stop", code=1, hook_events=(fault,), logs={"stderr.log": f"{LOST}\n{LAUNCHER.format(rank=killed)}"}
    )
    run = make_run(tmp_path, "kill", first, PLAN)

    closed = run.supervise()
    diagnosed = closed.attempts[0].diagnosed
    assert diagnosed is not None
    assert (closed.stage, len(closed.attempts)) == (RunStage.SUCCEEDED, 2)
    assert (diagnosed.name, diagnosed.rank) == ("rank-died-peers-abort", killed)
    found = judge_fault(
        FaultyRun(
            kind=run.kind,
            steps=8,
            undisturbed=PartResult(part="stop", code=0),
            first=first,
            closed=closed,
            events=run.ledger.events,
            diagnosed=diagnosed,
            could_resume=None,
            passed_over=(),
            same_weights=None,
        )
    )
    assert (found.rank, found.is_cause, found.status) == (killed, is_cause, "recovers")
    assert found.where == f"rank {killed} was killed by SIGKILL; rank {1 - killed} ended after it"
    assert f"rank-died-peers-abort: {found.where}"[:60] in " ".join(" ".join(render_faults([found])).split())


@pytest.mark.parametrize("attempts", [1, 3])
def test_no_more_attempts_follow_than_the_job_allows(tmp_path: Path, attempts: int) -> None:
    leave(tmp_path / "stall" / "stop", *steps(1, 2, 3, 4), saved=(2, 4))
    first = PartResult(part="stop", code=None, over=STOOD_STILL, stacks=STACK)
    plan = Plan(name="train", script="", script_name="train.py", cwd="/", attempts=attempts)

    state = make_run(tmp_path, "stall", first, plan).supervise()

    assert len(state.attempts) == min(attempts, 2)
