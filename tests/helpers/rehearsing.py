"""One server that rehearses many jobs, in the folder that `tests/helpers/fault_world.py` makes.

    with rehearsals(folder) as rehearse:
        found = rehearse(job)

They take a loopback Hub for the Hub. Each job takes about as long as its three parts; the libraries are imported once.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path

import pytest

from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.app.rehearse.observing import observe
from holdfast.app.rehearse.playing import judge_parts, run_parts
from holdfast.app.rehearse.rehearsing import ALWAYS, make_part_request
from holdfast.app.targets.programs import program_of
from holdfast.core.job.methods import Method
from holdfast.core.rehearse.rehearsal import Rehearsal
from tests.helpers.fault_world import make_world
from tests.helpers.hub import loopback_hub
from tests.helpers.rehearsal_jobs import Job

Rehearse = Callable[[Job], Rehearsal]
LIMIT_S = 120.0
LOCAL = "where.backend=local"


@contextmanager
def start_rehearsals(folder: Path, **variables: str) -> Iterator[tuple[Path, Rehearse]]:
    """Start a server, with further variables of its environment; yield the folder that jobs are started in, and what rehearses one there."""
    make_world(world := folder / "world")
    (told := folder / "told").mkdir()
    trainers = [f"trl:{method.trainer}" for method in Method]
    with loopback_hub() as hub:
        wanted = [*ALWAYS, "peft", *trainers]
        with ExitStack() as stack:
            with chdir(world):  # which the server, and so each job, is started in
                server = RehearsalServer(
                    [sys.executable], header="", wanted=wanted, folder=told, variables=hub.variables | variables
                )
                stack.enter_context(server)
            server.wait_ready(300)

            def rehearse(job: Job) -> Rehearsal:
                for pattern, status in job.refused.items():
                    hub.fail(pattern, status=status)
                try:
                    return _rehearse(server, job, told / job.name)
                finally:
                    hub.heal()

            yield world, rehearse


@contextmanager
def rehearsals(folder: Path, **variables: str) -> Iterator[Rehearse]:
    """Start a server, go where its jobs are started, and yield what rehearses a job."""
    with start_rehearsals(folder, **variables) as (world, rehearse), chdir(world):
        yield rehearse


@pytest.fixture(scope="module", name="rehearse")
def rehearse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearse]:
    """What rehearses a job: one server for a file of tests, which imports this fixture."""
    with rehearsals(tmp_path_factory.mktemp("rehearsals")) as rehearse:
        yield rehearse


def _rehearse(server: RehearsalServer, job: Job, folder: Path) -> Rehearsal:
    target = write(job)
    asked = program_of(target, [LOCAL] if job.local else [], job.arguments)
    part_request = make_part_request(asked, folder, gpu=False, offline=False)
    parts = run_parts(server, part_request, job.limit_s or LIMIT_S, lambda _: None)
    objections = observe(parts["whole"], folder / "whole").objections
    return judge_parts(parts, objections, imports_s=0.0)


def write(job: Job) -> str:
    """Write a job's files where they are read; return what names it: its file, or `--` for a command line."""
    for name, text in job.files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not job.source:
        return job.target or "--"
    path = Path(f"{job.name}{job.suffix}")
    path.write_text(job.source)
    return os.fspath(path)


def told(found: Rehearsal) -> list[str]:
    """Return what failed: `stage/class` of each."""
    return [f"{each.stage}/{each.cause.signature.name}" for each in found.failures]
