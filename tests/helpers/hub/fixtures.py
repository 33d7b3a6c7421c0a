"""One Hub and one `huggingface_hub` for all tests of a file, which thus need not pay for its import.

from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub  # noqa: F401 - the fixtures `hub` and `ask`
def test_something(hub: LoopbackHub, ask: Ask) -> None: ...
"""

import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from tests.helpers.hub.client import Ask, client_of
from tests.helpers.hub.server import LoopbackHub, loopback_hub

SETUP = """
import os, time, warnings
from pathlib import Path
from tempfile import mkdtemp
from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi, HfFileSystem, ModelCard, Volume
api = HfApi()
def as_whom(token):
    return HfApi(token=token)
nobody = HfApi(token=False)
def run(*command, image="ghcr.io/astral-sh/uv:python3.12-bookworm", **more):
    return api.run_job(image=image, command=list(command), **more).id
def python(code, **more):
    return run("python", "-c", code, **more)
def ended(job_id, **more):
    status = api.wait_for_job(job_id, poll_interval=0.02, timeout=20, **more).status
    return [status.stage, status.message]
def at_stage(job_id, stage):
    return api.wait_for_job(job_id, poll_interval=0.02, timeout=20, stages=[stage]).status.stage
def logs(job_id, **more):
    return list(api.fetch_job_logs(job_id=job_id, **more))
def bucket(path):
    return Volume(type="bucket", source="me/kept", mount_path=path)
def error_of(call, *args, **kwargs):
    try:
        return ["", str(call(*args, **kwargs))]
    except Exception as error:
        return [type(error).__name__, str(error)]
"""


@pytest.fixture(scope="module", name="whole")
def one_hub() -> Iterator[LoopbackHub]:
    """A Hub with the users `me` (who may write, and has a token that may only read) and `you`, and the organization `acme` of neither."""
    with loopback_hub() as hub:
        hub.add_organization("acme")
        hub.add_user("you")
        hub.add_token("hf_you", user="you")
        hub.add_token("hf_me_read", role="read")
        yield hub


@pytest.fixture(scope="module", name="ask")
def one_client(whole: LoopbackHub) -> Iterator[Ask]:
    """A process that has `api` (as `me`), `nobody`, `as_whom(TOKEN)` and `error_of(CALL, ...)`, which returns class and text of what is raised."""
    with client_of(whole, SETUP) as ask:
        yield ask


@pytest.fixture(name="hub")
def hub_without_faults(whole: LoopbackHub) -> Iterator[LoopbackHub]:
    """The same Hub for each test, with nothing asked of it yet and nothing left wrong."""
    whole.requests.clear()
    whole.commits.clear()
    yield whole
    whole.heal()


def wait_for(so: Callable[[], object]) -> None:
    """Wait until something is so, for ten seconds at most."""
    end = time.monotonic() + 10
    while not so():
        assert time.monotonic() < end
        Event().wait(0.01)
