"""Advice to install an extra fits how holdfast itself was installed."""

import json
import shlex
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.environment.extras import install_command, render_command

CLONE = "file:///home/me/my%20clones/holdfast"
SOURCE = Path(__file__).parents[3] / "src" / "holdfast"


@pytest.mark.parametrize(
    ("direct_url", "here", "words"),
    [
        ({}, "/srv", ["holdfast[gguf]"]),
        ({"url": "https://host/holdfast-0.1.0-py3-none-any.whl", "archive_info": {}}, "/srv", ["holdfast[gguf]"]),
        ({"url": CLONE, "dir_info": {"editable": True}}, "/home/me/my clones/holdfast", ["-e", ".[gguf]"]),
        ({"url": CLONE, "dir_info": {"editable": True}}, "/srv", ["-e", "/home/me/my clones/holdfast[gguf]"]),
        ({"url": CLONE, "dir_info": {}}, "/home/me/my clones/holdfast", [".[gguf]"]),
        (
            {"url": "https://github.com/acme/holdfast", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}},
            "/srv",
            ["holdfast[gguf] @ git+https://github.com/acme/holdfast"],
        ),
    ],
)
def test_command_for_each_kind_of_installation(direct_url: dict[str, Any], here: str, words: list[str]) -> None:
    """As a shell reads it."""
    assert shlex.split(render_command("gguf", direct_url, Path(here))) == ["pip", "install", *words]


def test_command_of_this_installation() -> None:
    """The tests run from a clone, most often an editable one."""
    written = json.loads(distribution("holdfast").read_text("direct_url.json") or "{}")

    assert install_command("data") == render_command("data", written, Path.cwd())


def test_extras_are_named_in_one_place() -> None:
    """Whoever advises to install one asks for the command."""
    named = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "pip install 'holdfast[" in path.read_text(encoding="utf-8")
    ]

    assert named == ["adapters/environment/extras.py"]
