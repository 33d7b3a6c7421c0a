"""What a person reads of a diagnosis."""

from typing import Any

from click import unstyle

from holdfast.cli.diagnosis import render_diagnosis

CAUSE = {
    "class": "healthy-run-misread",
    "title": "Nothing is wrong here",
    "confidence": 0.6,
    "evidence": [],
    "cause": "A loss of zero is usual.",
    "fix": "Let it run.",
    "remedy": None,
    "retry": "no",
    "prevented_by": [],
}


def told(verdict: str, **changed: Any) -> str:
    cause = {**CAUSE, **changed}
    return unstyle(
        render_diagnosis(
            {"verdict": verdict, "causes": [cause], "missing": [], "quiet": False, "paths": ["train.log"], "lines": 9}
        )
    )


def test_a_healthy_log_is_told_why_and_nothing_of_attempts() -> None:
    text = told("healthy")
    assert "A loss of zero is usual." in text
    assert "attempt" not in text


def test_a_guess_is_called_one() -> None:
    assert "perhaps full (a guess, 45 %)" in told("unknown", **{"class": "full", "confidence": 0.45})
    assert "full (a guess, 62 %)" in told("diagnosed", **{"class": "full", "confidence": 0.62})
    assert "full (93 %)" in told("diagnosed", **{"class": "full", "confidence": 0.93})
