"""The study file's schema: every mistake at once, each with its line and the nearest name."""

import json

import jsonschema
import pytest

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.catalog.metrics import METRICS
from holdfast.core.errors import GroupedError, flatten
from holdfast.core.study.study import Study, StudyMetric, parse_study, study_keys, study_schema

GOOD = """\
job: job.yaml
metric: eval_loss
grid: {train.learning_rate: [1.0e-5, 1.0e-4]}
"""


def read(text: str) -> Study:
    return parse_study(JobFileReader().read(text, "study.yaml"))


def mistakes(text: str) -> list[tuple[str, str, str]]:
    with pytest.raises(GroupedError) as refused:
        read(text)
    return [(each.what, str(each.spot.line), each.fix) for each in flatten(refused.value)]


def test_every_mistake_is_told_at_once_with_its_line() -> None:
    """In the order of the file, with the nearest key."""
    found = mistakes(
        """\
jobb: x
grid: {train.learning_rate: 1.0e-3}
random: {count: 0, values: {train.x: {chioce: [1]}, train.y: {uniform: [2, 1]}}}
seeds: [a]
metric: {name: foo}
budget: {hour: 3}
paralel: 2
"""
    )

    assert [line for _, line, _ in found] == ["1", "2", "3", "3", "3", "4", "5", "6", "7"]
    whats = " | ".join(what for what, _, _ in found)
    fixes = " | ".join(fix for _, _, fix in found)
    for what in (
        "`jobb`",
        "it should be a list",
        "above 0",
        "`random.values.train.x.chioce`",
        "not 2 and 1",
        "whole number",
    ):
        assert what in whats
    for fix in ("`job`", "`random.values.train.x.choice`", "`budget.hours`", "`parallel`", "[0.001]"):
        assert fix in fixes


@pytest.mark.parametrize("before", ["", "eval_"])
@pytest.mark.parametrize("name", METRICS)
def test_the_direction_of_our_own_metrics_is_known(name: str, before: str) -> None:
    """A study that compares by one needs no `direction`."""
    assert StudyMetric(name=f"{before}{name}").lower_is_better is METRICS[name].lower_is_better


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("random: {count: 2, values: {a: {choice: [1], uniform: [1, 2]}}}", "exactly one of"),
        ("random: {count: 2, values: {a: {}}}", "exactly one of"),
        ("random: {count: 2, values: {a: {log_uniform: [0, 1]}}}", "above 0"),
        ("random: {count: 2, values: {}}", "random.values"),
        ("grid: {}", "`grid`"),
        ("grid: {a: []}", "`grid.a`"),
        ("budget: {usd: 0}", "above 0"),
        ("name: ../x", "letters, digits"),
        ("where: [{}]", "`where.0`"),
        ("parallel: 1.5", "whole number"),
    ],
)
def test_what_has_no_meaning_is_refused(line: str, told: str) -> None:
    """Where it stands."""
    key = line.partition(":")[0]
    text = "".join(f"{each}\n" for each in GOOD.splitlines() if not each.startswith(f"{key}:"))

    assert told in " ".join(what for what, _, _ in mistakes(f"{text}{line}\n")).replace(
        "it has one of", "exactly one of"
    )


def test_the_direction_follows_from_names_that_everybody_knows() -> None:
    """Of any other it has to be said."""
    for name, lower in {
        "eval_loss": True,
        "train_loss": True,
        "exact_match": False,
        "eval_rewards/accuracies": False,
    }.items():
        assert read(GOOD.replace("eval_loss", name)).metric.lower_is_better is lower
    assert read(GOOD.replace("eval_loss", "{name: kl, direction: minimize}")).metric.lower_is_better
    assert "did you mean `eval_loss`?" in mistakes(GOOD.replace("eval_loss", "eval_los"))[0][0]


def test_a_condition_may_stand_alone() -> None:
    """Without a list around it."""
    assert read(f"{GOOD}unless: {{train.learning_rate: 1.0e-5}}\n").unless == [{"train.learning_rate": 1e-5}]


def test_the_schema_accepts_what_is_read_and_knows_every_key() -> None:
    """Editors complete and check with it."""
    schema = study_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(read(GOOD).model_dump(exclude_none=True))), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"job": "a", "metric": "b", "grdi": {}}, schema)
    assert set(study_keys(())) == set(schema["properties"])
    assert all(each.get("description") and each.get("examples") for each in schema["properties"].values())
