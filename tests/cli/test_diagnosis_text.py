"""What a person reads of a diagnosis."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from click import unstyle
from msgspec import convert

import holdfast
from holdfast.cli.text.diagnosis import render_diagnosis
from holdfast.results.diagnose import DiagnoseResult

MISSING = """Traceback (most recent call last):
  File "train.py", line 9, in <module>
    trainer = DPOTrainer(model, train_dataset=rows)
KeyError: "Unexpected input keys in examples: dict_keys(['text', 'label'])."
"""
CAUSE = {
    "class": "healthy-run-misread",
    "title": "Nothing is wrong here",
    "phase": "user",
    "confidence": 0.6,
    "evidence": [],
    "cause": "A loss of zero is usual.",
    "fix": "Let it run.",
    "remedy": None,
    "retry": "no",
    "prevented_by": [],
    "inspected_by": [],
}


JOB = {"job": {"path": "job.yaml", "unread": None}}


def told(verdict: str, given: Mapping[str, Any] = MappingProxyType({}), /, **changed: Any) -> str:
    cause = {**CAUSE, **changed}
    plain = {"schema": 1, "verb": "diagnose", "missing": [], "quiet": False, "paths": ["train.log"], "lines": 9}
    rest: dict[str, Any] = {"versions": {}, "running": None, "job": None, **given}
    return unstyle(render_diagnosis(convert({**plain, **rest, "verdict": verdict, "causes": [cause]}, DiagnoseResult)))


def test_a_healthy_log_is_told_why_and_nothing_of_attempts() -> None:
    text = told("healthy")
    assert "A loss of zero is usual." in text
    assert "attempt" not in text


def test_a_guess_is_called_one() -> None:
    assert "perhaps full (a guess, 45 %)" in told("unknown", **{"class": "full", "confidence": 0.45})
    assert "full (a guess, 62 %)" in told("diagnosed", **{"class": "full", "confidence": 0.62})
    assert "full (93 %)" in told("diagnosed", **{"class": "full", "confidence": 0.93})


def test_how_it_ended_is_no_file() -> None:
    """What the user said of the end is told as that, and not counted as lines of a log."""
    given = {"paths": ["half.log", "how it ended"], "lines": 4}
    said = {"path": "how it ended", "line": 1, "text": "SIGTERM ended it", "rank": None}

    assert "the cause is not in 3 lines of half.log\n" in told("unknown", given)
    assert "\n  how it ended: SIGTERM ended it\n" in told("diagnosed", given, evidence=[said])


def test_an_edit_that_removes_a_setting_needs_the_setting() -> None:
    """A log alone does not show it."""
    removal = {"key": "train.dataset_num_proc", "action": "remove", "from": None, "to": None}

    assert "edit" not in told("diagnosed", remedy=[removal])
    assert "edit remove `train.dataset_num_proc` from 64" in told("diagnosed", JOB, remedy=[removal | {"from": 64}])


def test_only_rules_that_report_this_very_fault_are_named(tmp_path: Path) -> None:
    """Those that object to the job's own file; of a log alone nobody knows whether any does."""
    (tmp_path / "train.log").write_text(MISSING)
    (tmp_path / "rows.jsonl").write_text('{"question": "a", "answer": "b"}\n')
    data = f'load_dataset("json", data_files="{tmp_path / "rows.jsonl"}", split="train")'
    script = f"from datasets import load_dataset\nfrom trl import DPOConfig, DPOTrainer\n\nrows = {data}\n"
    trainer = 'DPOTrainer("acme/chat", args=DPOConfig("out"), train_dataset=rows)\n'
    (tmp_path / "train.py").write_text(script + trainer)
    (tmp_path / "other.py").write_text(script + trainer.replace("=rows", "=prepared(rows)"))
    (tmp_path / "job.yaml").write_text(f"method: dpo\nmodel: acme/chat\ndataset: {tmp_path / 'rows.jsonl'}\n")

    def named(*targets: str) -> list[str]:
        (cause, *_) = holdfast.diagnose([str(tmp_path / each) for each in targets])["causes"]
        assert cause["class"] == "dataset-missing-column"
        return [*cause["prevented_by"], *cause["inspected_by"]]

    assert named("train.log", "train.py") == named("train.log", "job.yaml") == ["DAT101"]
    assert named("train.log", "other.py") == named("train.log") == []


def test_rules_about_rows_are_named_as_inspect_s() -> None:
    shown = told("diagnosed", prevented_by=["DAT101"], inspected_by=["DAT217"])
    assert "found before launch by DAT101\n  found in the data by DAT217 (`holdfast inspect`)" in shown


@pytest.mark.parametrize(("confidence", "shown"), [(0.9, True), (0.46, True), (0.4, False)])
def test_a_cause_far_less_likely_than_the_first_is_not_shown(confidence: float, shown: bool) -> None:
    causes = [{**CAUSE, "class": name, "confidence": sure} for name, sure in (("first", 0.9), ("other", confidence))]
    plain = {"schema": 1, "verb": "diagnose", "missing": [], "quiet": False, "paths": ["train.log"], "lines": 9}
    result = {**plain, "versions": {}, "running": None, "job": None, "verdict": "diagnosed", "causes": causes}

    text = unstyle(render_diagnosis(convert(result, DiagnoseResult)))

    assert ("less likely other" in text) is shown


def test_what_is_not_sure_is_not_stated_as_a_fact() -> None:
    """A killed process may have been killed by anybody: only an answer that is nearly always right is told as what happened."""
    assert "why If this is the cause: A loss of zero is usual." in told("diagnosed", confidence=0.8)
    assert "full (probably, 80 %)" in told("diagnosed", **{"class": "full", "confidence": 0.8})
    assert "why A loss of zero is usual." in told("diagnosed", confidence=0.95)


@pytest.mark.parametrize("job", [None, {"path": "train.py", "unread": None}])
def test_edits_for_a_script_are_of_its_arguments(job: Mapping[str, Any] | None) -> None:
    """A script has no `train.` keys, and nothing where a job file has `where`; a job file has both."""
    halve = {"key": "train.per_device_train_batch_size", "action": "halve", "from": 4, "to": 2}
    timeout = {"key": "where.timeout", "action": "set", "from": None, "to": "8h"}

    text = told("diagnosed", {"job": job}, remedy=[halve, timeout])
    assert "edit halve `per_device_train_batch_size` from 4 to 2" in text
    assert "where.timeout" not in text

    text = told("diagnosed", JOB, remedy=[halve, timeout])
    assert "edit halve `train.per_device_train_batch_size` from 4 to 2" in text
    assert "edit set `where.timeout` to 8h" in text
