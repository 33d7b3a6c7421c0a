"""What the Hub would refuse is refused before anything is sent."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.core.errors import UsageError
from holdfast.core.run.plan import Plan
from tests.helpers.hub import LoopbackHub, Scope, loopback_hub

PLAN = Plan(name="a", script="", script_name="a.py", cwd="/", hardware="t4-small", timeout_s=60.0)
TOKEN = "hf_own"  # noqa: S105 - of nobody


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with loopback_hub() as hub:
        hub.add_organization("acme", {"me": "write"})
        hub.add_organization("readers", {"me": "read"})
        hub.add_token(TOKEN)
        yield hub


def fine(*permissions: str, name: str = "me") -> Callable[[LoopbackHub], Any]:
    scope = Scope("user" if name == "me" else "org", name, permissions)
    return lambda hub: hub.add_token(TOKEN, role="fineGrained", scopes=(scope,))


def look(hub: LoopbackHub, **fields: Any) -> None:
    for obstacle in HfJobsBackend.obstacles(replace(PLAN, **fields), {"HF_TOKEN": TOKEN, "HF_ENDPOINT": hub.address}):
        raise obstacle


REFUSED: dict[str, tuple[Callable[[LoopbackHub], Any], dict[str, Any], str, str]] = {
    "a token that reads": (lambda hub: hub.add_token(TOKEN, role="read"), {}, "may only read", "HF_TOKEN"),
    "an unknown token": (lambda hub: hub.accounts.tokens.clear(), {}, "refuses the token", "401"),
    "no job.write": (fine("repo.write"), {}, "lacks `job.write`", "HF_TOKEN"),
    "no repo.write": (fine("job.write"), {}, "lacks `repo.write`", "HF_TOKEN"),
    "rights elsewhere": (fine("job.write", "repo.write", name="acme"), {}, "lacks `job.write`", "HF_TOKEN"),
    "an unknown flavor": (lambda _: None, {"hardware": "t4-smal"}, "no hardware 't4-smal'", "where.hardware"),
    "a flavor that is gone": (lambda _: None, {"hardware": "h100"}, "no hardware 'h100'", "where.hardware"),
    "another's account": (
        lambda _: None,
        {"options": {"namespace": "somebody"}},
        "does not belong to 'somebody'",
        "where.options.namespace",
    ),
    "a reader's organization": (
        lambda _: None,
        {"options": {"namespace": "readers"}},
        "may only read in readers",
        "where.options.namespace",
    ),
    "an image's name": (lambda _: None, {"options": {"image": "My Image:1"}}, "'My Image:1'", "where.options.image"),
    "a public bucket": (
        lambda hub: hub.add_bucket("me/holdfast", private=False),
        {},
        "is public",
        "where.options.bucket",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_hub_would_refuse_is_refused_before(hub: LoopbackHub, case: str) -> None:
    """With the key to correct, and how. Nothing is sent."""
    arrange, fields, told, where = REFUSED[case]
    arrange(hub)
    with pytest.raises(UsageError) as error:
        look(hub, **fields)

    assert told in error.value.what
    assert where in str(error.value.where)
    assert error.value.fix
    assert not hub.asked("^(POST|PUT|DELETE)")


@pytest.mark.parametrize(
    ("arrange", "fields"),
    [
        (lambda _: None, {}),
        (fine("job.write", "repo.write"), {}),
        (lambda _: None, {"options": {"namespace": "acme", "image": "ghcr.io/astral-sh/uv:python3.12-bookworm"}}),
        (lambda _: None, {"options": {"image": "pytorch/pytorch@sha256:" + "0" * 64}}),
        (lambda hub: hub.add_bucket("me/holdfast", private=True), {}),
        (lambda hub: hub.fail("^GET /api/jobs/hardware", status=503), {}),
        (lambda hub: hub.fail("^GET /api/whoami", status=503), {}),
        (lambda hub: hub.fail("^GET /api/buckets", status=503), {}),
    ],
)
def test_what_it_takes_or_does_not_tell_is_no_obstacle(
    hub: LoopbackHub, arrange: Callable[[LoopbackHub], Any], fields: dict[str, Any]
) -> None:
    """A false alarm is worse than a miss."""
    arrange(hub)
    look(hub, **fields)


def test_flavors_are_known_without_the_hub(hub: LoopbackHub) -> None:
    """From the table that was made of the Hub's own."""
    hub.fail("^GET /api/jobs/hardware", status=503)
    with pytest.raises(UsageError, match="did you mean `t4-small`"):
        look(hub, hardware="t4-smal")
