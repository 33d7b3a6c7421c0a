"""Settings of an attempt that its checkpoint was saved without: what a job gives otherwise is refused, and nothing else."""

from typing import Any

import pytest

from holdfast.catalog.environment.stack import load_stack
from holdfast.engine.run.resuming import refused_settings
from holdfast.engine.script.render import render_script
from tests.helpers.failed_jobs import make_job

VERSIONS = {name.replace("-", "_"): package.version for name, package in load_stack().items()}
SAVED = {**VERSIONS, "seed": 42, "max_steps": 100, "learning_rate": 1e-4}


def refused(saved: dict[str, Any], *, pin: str = "", accepted: dict[str, Any] | None = None, **parts: Any) -> list[str]:
    """Return what is refused of a job that continues from a checkpoint with these settings."""
    job = make_job(**{"seed": 42, "peft": {"r": 4}, **parts}, environment={"requirements": [pin] if pin else []})
    script = render_script(job, name="job", sources={})
    return [str(each) for each in refused_settings(job, script, {**SAVED, **saved}, accepted or {})]


@pytest.mark.parametrize(
    ("pin", "saved"),
    [
        ("", {}),
        ("peft==0.18", {"peft": "0.18.0"}),
        ("peft==0.18.0", {"peft": "0.18.0"}),
        ("peft == 0.18.0", {"peft": "0.18.0"}),
        ("peft===0.18.0", {"peft": "0.18.0"}),
        ("torch==2.13.0+cu128", {"torch": "2.13.0"}),
        ("torch==2.13.0.0", {"torch": "2.13.0"}),
        ("torch==2.14.0rc1", {"torch": "2.14.0rc1"}),
        ("accelerate~=1.2", {"accelerate": "1.9.0"}),
        ("datasets==4.*", {"datasets": "4.1.1"}),
        ("datasets>=4,<5", {"datasets": "4.1.1"}),
        ("peft==0.18.0; sys_platform == 'win32'", {"peft": "0.17.1"}),
        ("peft @ git+https://example.com/peft@main", {"peft": "0.18.1.dev0"}),
    ],
)
def test_a_version_that_is_installed_again_is_not_refused(pin: str, saved: dict[str, Any]) -> None:
    """However the job spells it; what is not pinned is left to the process, which knows what was installed."""
    assert refused(saved, pin=pin) == []


@pytest.mark.parametrize(
    ("pin", "name", "saved", "after"),
    [
        ("peft==0.19", "peft", "0.18.0", "0.19.0"),
        ("torch==2.13.0+cu128", "torch", "2.12.1", "2.13.0"),
        ("", "transformers", "5.0.0", VERSIONS["transformers"]),
    ],
)
def test_another_version_is_refused_until_its_own_spelling_is_accepted(
    pin: str, name: str, saved: str, after: str
) -> None:
    """The library's: the process compares that one again."""
    assert refused({name: saved}, pin=pin) == [f"`{name}` from {saved} to {after}"]
    assert refused({name: saved}, pin=pin, accepted={name: after}) == []


@pytest.mark.parametrize("moved", ["trl", "torch", "peft"])
def test_the_versions_are_those_of_the_script_that_runs(moved: str) -> None:
    """Not those that holdfast would pin today, which an upgrade may have changed."""
    job, before = make_job(peft={"r": 4}), f"{moved}==0.9.1"
    script = render_script(job, name="job", sources={}).replace(f"{moved}=={VERSIONS[moved]}", before)
    assert before in script

    assert list(refused_settings(job, script, {**VERSIONS, moved: "0.9.1"}, {})) == []
    assert [each.after for each in refused_settings(job, script, VERSIONS, {})] == ["0.9.1"]


@pytest.mark.parametrize(("steps", "expected"), [(-1, []), (0, []), (100, []), (40, ["`max_steps` from 100 to 40"])])
def test_only_a_number_of_steps_that_counts_is_compared(steps: int, expected: list[str]) -> None:
    """With none, the number of epochs decides, and the checkpoint has the steps that these came to."""
    assert refused({}, train={"max_steps": steps}) == expected
