"""Defaults give way to the job file, the file to the environment, the environment to `--set`."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets.overrides import NOT_KEYS, apply_overrides, environment_edits, parse_set
from holdfast.core.errors import JobError, UsageError
from holdfast.core.job.document import Document, Set
from holdfast.core.job_file.job import Job, known_keys, parse_job

JOB = "method: sft\nmodel: tiny\ndataset: rows.jsonl\ntrain: {learning_rate: 1e-4, max_steps: 10}\n"


def overridden(environ: dict[str, str], *sets: str) -> Document:
    document = JobFileReader().read(JOB, "job.yaml")
    return apply_overrides(document, [*environment_edits(environ), *map(parse_set, sets)])


def job(environ: dict[str, str], *sets: str) -> Job:
    return parse_job(overridden(environ, *sets))


def refusals(environ: dict[str, str], *sets: str) -> list[str]:
    with pytest.raises(ExceptionGroup) as raised:
        job(environ, *sets)
    assert all(isinstance(problem, JobError) for problem in raised.value.exceptions)
    return [
        f"{problem.spot}: {problem.args[0]}" for problem in raised.value.exceptions if isinstance(problem, JobError)
    ]


def test_the_nearest_word_holds() -> None:
    """Each source goes before those that are further from the person who starts the run."""
    environ = {"HOLDFAST_TRAIN__LEARNING_RATE": "2e-4", "HOLDFAST_TRAIN__MAX_STEPS": "20", "HOLDFAST_SEED": "1"}

    assert job({}).seed == 42
    assert job(environ, "train.learning_rate=3e-4").train == {"learning_rate": 3e-4, "max_steps": 20}
    assert job(environ, "seed=2", "seed=3").seed == 3


def test_keys_are_spelt_as_the_job_spells_them() -> None:
    """Capitals in a variable's name stand for small letters, but for the names of other variables."""
    environ = {
        "HOLDFAST_DATASET__EVAL_FRACTION": "0.1",
        "HOLDFAST_TRACK__WITH": "trackio",
        "HOLDFAST_ENVIRONMENT__VARIABLES__OMP_NUM_THREADS": "'1'",
    }

    assert job(environ).dataset.path == "rows.jsonl"
    assert job(environ).dataset.eval_fraction == 0.1
    assert job(environ).track.with_ == "trackio"
    assert job(environ).environment.variables == {"OMP_NUM_THREADS": "1"}


def test_an_unknown_part_of_a_job_is_where_the_override_names_it() -> None:
    """The job file has no such key, so it is not what is wrong."""
    assert refusals({}, "trian.x=1")[0].startswith("--set trian.x: unknown key `trian`")
    assert refusals({"HOLDFAST_TRIAN__X": "1"})[0].startswith("HOLDFAST_TRIAN__X: unknown key `trian`")


@pytest.mark.parametrize("key", [(part, name) for part in known_keys(()) for name in known_keys((part,))])
def test_every_key_has_its_variable(key: tuple[str, str]) -> None:
    """Whatever a job file can say, a variable can."""
    part, name = key
    (override,) = environment_edits({f"HOLDFAST_{part}__{name}".upper(): "1"})

    assert override.edit == Set(f"{part}.{name}", 1)


def test_number_of_gpus() -> None:
    """`NUM_GPUS_OVERRIDE` is `where.processes`, and the key's own variable goes before it."""
    assert job({"NUM_GPUS_OVERRIDE": "2"}).where.processes == 2
    assert job({"NUM_GPUS_OVERRIDE": "2", "HOLDFAST_WHERE__PROCESSES": "3"}).where.processes == 3
    assert job({"NUM_GPUS_OVERRIDE": ""}).where.processes == "auto"
    assert refusals({"NUM_GPUS_OVERRIDE": "two"})[0].startswith("NUM_GPUS_OVERRIDE: ")


@pytest.mark.parametrize("value", ["two", "-1", "nan", "0", "9" * 30, "9" * 4000])
@pytest.mark.parametrize("name", ["NUM_GPUS_OVERRIDE", "HOLDFAST_WHERE__PROCESSES"])
def test_the_fix_of_an_override_names_what_the_user_wrote(name: str, value: str) -> None:
    """The variable, and not the key that it stands for."""
    with pytest.raises(ExceptionGroup) as raised:
        job({name: value})
    (problem,) = raised.value.exceptions
    assert isinstance(problem, JobError)
    assert problem.fix == f"correct {name}"
    assert len(problem.args[0]) < 120


def test_holdfasts_own_variables_are_no_keys() -> None:
    """What holdfast tells itself and its children, and what others say, changes no job."""
    assert environment_edits(dict.fromkeys([*NOT_KEYS, "PATH", "HOLDFASTER", "holdfast_seed"], "x")) == ()
    assert environment_edits({"HOLDFAST_SECRET_1": "x"}) == ()


def test_each_variable_that_holdfast_names_is_known() -> None:
    """Whoever exports what an error or a page advises can still run a job."""
    root = Path(__file__).parents[3]
    texts = [each.read_text(encoding="utf-8") for each in (root / "src").rglob("*.py")]
    texts += [each.read_text(encoding="utf-8") for each in (root / "docs").rglob("*.md")]
    named = set(re.findall(r"\bHOLDFAST_[A-Z]+(?:_[A-Z]+)*\b(?!_)", "\n".join(texts)))

    assert len(named) > 20
    assert not named - NOT_KEYS


def test_unknown_override_is_told_with_its_name() -> None:
    """A misspelt key is an error that names the variable or option."""
    assert set(refusals({"HOLDFAST_LEARNING_RATE": "1"}, "dataset.evalsplit=x", "seed=1.5")) == {
        "HOLDFAST_LEARNING_RATE: unknown key `learning_rate`",
        "--set dataset.evalsplit: unknown key `dataset.evalsplit`",
        "--set seed: `seed` is 1.5: it should be a whole number",
    }
    assert refusals({"HOLDFAST_METHOD__X": "1"}, "dataset.path.0=a") == [
        "HOLDFAST_METHOD__X: `method.x` cannot be set: `method` is neither a mapping nor a list of that length",
        "--set dataset.path.0: `dataset.path.0` cannot be set: `dataset.path` is neither a mapping nor a list of that length",
    ]


@pytest.mark.parametrize("text", ["train.learning_rate", "=1", "train.=1", ".x=1", "a..b=1", "x=[1", "x='", "x=*a", ""])
def test_malformed_option_is_a_wrong_question(text: str) -> None:
    """A `--set` without a key, without `=` or with a value that is not valid YAML is told as such."""
    with pytest.raises(UsageError, match=r"--set"):
        parse_set(text)


@pytest.mark.parametrize("name", ["HOLDFAST_", "HOLDFAST_TRAIN__", "HOLDFAST___X"])
def test_variable_without_a_key_is_a_wrong_question(name: str) -> None:
    """A name that ends or begins with a separator names nothing."""
    with pytest.raises(UsageError, match=name):
        environment_edits({name: "1"})


def test_secret_values_are_not_told() -> None:
    """Neither the option's place nor the message shows the value that was given."""
    told = refusals({"HOLDFAST_ENVIRONMENT__VARIABLES__A": "12345"}, "environment.variables.B=67890")

    assert len(told) == 2
    assert not any(secret in line for line in told for secret in ("12345", "67890"))


@given(st.text(), st.text(max_size=20))
@settings(deadline=None)
def test_any_option_is_read_or_refused(key: str, value: str) -> None:
    """Whatever is typed, the answer is an override or a UsageError."""
    try:
        override = parse_set(f"{key}={value}")
    except UsageError:
        return
    assert override.origin.path == f"--set {override.edit.key}"


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("train.max_steps", "'train.max_steps' has no `=`, so no value", "`--set train.max_steps=VALUE`"),
        ("=3", "'=3' has no key", "`--set train.learning_rate=1e-5`"),
        ("train..x=3", "'train..x' is no key: a part of it is empty", "`--set train.learning_rate=1e-5`"),
    ],
)
def test_an_incomplete_set_says_what_is_missing(text: str, what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_set(text)
    assert (caught.value.what, fix in caught.value.fix) == (what, True)
