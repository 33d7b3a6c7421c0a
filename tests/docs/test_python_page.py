"""The page of the Python API: its examples show what the functions return, and it names all of them."""

import doctest
import inspect
import re
from importlib.metadata import version
from pathlib import Path

import pytest

import holdfast

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/python.md"


def test_examples_return_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples/mistakes")
    tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried.attempted
    assert not tried.failed


def test_every_function_is_named() -> None:
    named = set(re.findall(r"`(?:holdfast\.)?(\w+)`|holdfast\.(\w+)", PAGE.read_text(encoding="utf-8")))
    words = {word for pair in named for word in pair}
    assert {name for name in holdfast.__all__ if inspect.isfunction(getattr(holdfast, name))} <= words


def test_the_package_tells_its_release() -> None:
    assert holdfast.__version__ == version("holdfast")
    assert "__version__" in dir(holdfast)
