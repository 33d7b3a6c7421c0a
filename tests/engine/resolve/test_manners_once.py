"""What is asked several times is worked out once, and is the same answer."""

from collections.abc import Iterator

import pytest

from holdfast.core.environment.requirement import ProjectRequirements, parse_requirement
from holdfast.core.last_call_cache import cache_last_call
from holdfast.core.text.places import Place
from holdfast.engine.resolve import resolve
from holdfast.engine.resolve.cached import resolve_cached


def declared(*texts: str, path: str = "a.py", kind: str = "header") -> ProjectRequirements:
    requirements = tuple(parse_requirement(text, Place(path, number)) for number, text in enumerate(texts, start=1))
    return ProjectRequirements(kind=kind, origin=kind, path=path, requirements=requirements)  # type: ignore[arg-type]  # words of a literal type


def test_the_same_requirements_give_the_same_versions_wherever_they_stand() -> None:
    """As `resolve` gives them, with the places of each file."""
    for texts in (("trl==1.16.0", "transformers"), ("trl>=0.12", "trl<1", "peft"), (), ("trl==1.0", "trl==2.0")):
        for path in ("a.py", "b.py"):
            assert resolve_cached(declared(*texts, path=path)) == resolve(declared(*texts, path=path))


def test_other_requirements_are_other_versions() -> None:
    """By their texts, by what says so, and by their order."""
    one, other = declared("trl==1.16.0"), declared("trl==0.20.0")

    assert resolve_cached(one).newest["trl"] != resolve_cached(other).newest["trl"]
    assert resolve_cached(declared("trl", kind="lock")) == resolve(declared("trl", kind="lock"))


def test_an_answer_is_remembered_for_the_very_same_arguments_alone() -> None:
    """Equal ones are asked about again, and so is what was asked before the last."""
    asked: list[object] = []

    @cache_last_call
    def told(first: list[int], second: int) -> list[int]:
        asked.append(first)
        return [*first, second]

    one, same = [1], [1]

    assert told(one, 2) == told(one, 2) == told(same, 2) == (1, 2)
    assert len(asked) == 2
    assert told(one, 2) == (1, 2)
    assert told(one, 3) == (1, 3)
    assert len(asked) == 4


def test_what_an_answer_failed_with_is_remembered_too() -> None:
    """The same error is raised again, also in the middle of an answer, and other arguments are asked about."""
    asked: list[str] = []

    @cache_last_call
    def told(name: str) -> Iterator[str]:
        asked.append(name)
        yield name
        if name == "bad":
            raise LookupError(name)

    for _ in range(3):
        with pytest.raises(LookupError, match="bad"):
            told("bad")

    assert asked == ["bad"]
    assert told("good") == ("good",)
