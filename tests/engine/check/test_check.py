"""Rules get the facts they name; a pass, a finding and a skip are told apart."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.local.references import LocalFolders
from holdfast.core.check.facts import Dataset, Gpu, Machine, ModelFacts
from holdfast.core.check.finding import Case, Finding, MissingFactError, Rule, Severity, Skip
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document, Unknown
from holdfast.core.job.methods import Method
from holdfast.core.job_file.data import Data
from holdfast.core.job_file.job import Evaluation, Job, Model
from holdfast.core.text.places import Place
from holdfast.engine.check.gather import gather
from holdfast.engine.check.hub_facts import ReferenceResolver
from holdfast.engine.check.job_facts import FactSources, JobFacts, process_count
from holdfast.engine.check.rule_runner import BROKEN, MissingFact, needed_facts, run_rules, select, severity_of
from holdfast.rules import all_rules
from tests.helpers.fake_hub import FakeHub

DOCUMENT = Document(
    path="job.yaml",
    kind="job",
    values={"train": {"max_length": 512, "seed": Unknown("read from the command line")}},
    key_places={("train", "max_length"): Place("job.yaml", 3, 3, 3, 13)},
)
OF_ROWS = {"scan", "tokens", "rewarded"}
OF_FINDINGS = {"unused_ignores"}
"""What is only known when all other rules were asked."""
"""Facts that no check has: `inspect` reads rows."""
T4 = Gpu(name="T4", memory_bytes=1, capability=(7, 5))
UNNAMED = Document(path="job.yaml", kind="job", values={})


def rule(check: Any, code: str = "ARG901", severity: Severity = Severity.ERROR) -> Rule:
    example = (Case(job=""),)
    return Rule(code=code, name=code, explain="", severity=severity, check=check, source="", bad=example, good=example)


def too_long(job: Document) -> Iterator[Finding]:
    yield Finding("train.max_length", f"{job.get('train.max_length')} is too long")


def reads_seed(job: Document) -> Iterator[Finding]:
    yield Finding("train.max_length", "before")
    yield Finding("train.seed", f"{job.get('train.seed')} is no seed")


def two_rows(dataset: Dataset, machine: Machine) -> Iterator[Finding]:
    if dataset.rows == machine.cpus:
        yield Finding("dataset", "as many rows as cores")


def test_a_finding_gets_its_rule_and_its_place() -> None:
    """A rule says what and where by key; the engine adds the rule and the line."""
    asked = rule(too_long)

    assert list(run_rules([asked], DOCUMENT, {})) == [
        Finding("train.max_length", "512 is too long", rule=asked, place=Place("job.yaml", 3, 3, 3, 13))
    ]


def test_facts_are_handed_over_by_name() -> None:
    """A rule gets the facts that its parameters name, and passes or objects."""
    facts = {"dataset": Dataset(rows=2), "machine": Machine(cpus=2), "processes": 1}

    assert [result.key for result in run_rules([rule(two_rows)], DOCUMENT, facts) if isinstance(result, Finding)]
    assert list(run_rules([rule(two_rows)], DOCUMENT, {**facts, "machine": Machine(cpus=3)})) == []


def test_a_missing_fact_is_a_skip_with_its_reason() -> None:
    """A rule whose facts are missing is not asked; each reason is told once."""
    asked = rule(two_rows)
    facts = {"dataset": MissingFact("offline"), "machine": MissingFact("offline")}

    assert list(run_rules([asked], DOCUMENT, facts)) == [Skip(asked, ("dataset", "machine"), ("offline",))]
    assert list(run_rules([asked], DOCUMENT, {**facts, "machine": Machine(cpus=1)})) == [
        Skip(asked, ("dataset",), ("offline",))
    ]


def test_a_fact_that_nobody_looked_up_is_a_skip() -> None:
    """A rule that names a fact nobody gathered does not pass."""
    (result,) = run_rules([rule(two_rows)], DOCUMENT, {"machine": Machine(cpus=1)})

    assert isinstance(result, Skip)
    assert result.missing == ("dataset",)


def test_a_hidden_value_is_a_skip_and_never_guessed() -> None:
    """A rule that reads what the source does not say is skipped from there on; what it found before counts."""
    asked = rule(reads_seed)
    before, skip = run_rules([asked], DOCUMENT, {})

    assert isinstance(before, Finding)
    assert before.message == "before"
    assert skip == Skip(asked, ("train.seed",), ("read from the command line",))


def test_a_rule_may_say_itself_that_it_cannot_tell() -> None:
    """A rule that would have to guess raises, and is skipped with its own reason."""

    def cannot_tell(job: Document) -> Iterator[Finding]:
        if job.path:
            raise MissingFactError("dataset.map", f"{job.path} rewrites the rows")
        yield Finding("dataset", "a guess")

    asked = rule(cannot_tell)

    assert list(run_rules([asked], DOCUMENT, {})) == [Skip(asked, ("dataset.map",), ("job.yaml rewrites the rows",))]


def test_a_rule_that_breaks_is_a_skip_that_says_so() -> None:
    """A bug in one rule takes no finding of the others away, and is not silent."""

    def breaks(job: Document) -> Iterator[Finding]:
        yield Finding("train", job.values["no such key"])

    found, skip = run_rules([rule(too_long), rule(breaks, "ARG902")], DOCUMENT, {})

    assert isinstance(found, Finding)
    assert isinstance(skip, Skip)
    assert skip.because == f"{BROKEN}: KeyError: 'no such key'"


def test_a_findings_own_severity_comes_before_its_rules() -> None:
    """A rule may be sure of one finding and not of another."""
    error, warning = rule(too_long), rule(too_long, severity=Severity.WARNING)

    assert severity_of(Finding("train", "", severity=Severity.INFO, rule=error)) is Severity.INFO
    assert severity_of(Finding("train", "", rule=warning)) is Severity.WARNING
    assert severity_of(Finding("train", "")) is Severity.ERROR


def test_rules_are_selected_by_the_beginnings_of_codes() -> None:
    """`only` keeps, `ignore` drops, and without either all are asked."""
    rules = [rule(too_long, code) for code in ("ARG101", "ARG102", "DAT101")]

    assert [each.code for each in select(rules)] == ["ARG101", "ARG102", "DAT101"]
    assert [each.code for each in select(rules, only=("ARG",), ignore=("ARG102",))] == ["ARG101"]


def test_needed_facts_are_those_of_the_rules() -> None:
    """Only what a selected rule names is looked up; the job is at hand anyway."""
    assert needed_facts([rule(too_long)]) == set()
    assert needed_facts([rule(too_long), rule(two_rows)]) == {"dataset", "machine"}


class World:
    """Everything there is to know, and how often it was asked for."""

    def __init__(self, machine: Machine, dataset: Dataset | SourceError) -> None:
        self.machine, self.dataset, self.asked = machine, dataset, 0

    @property
    def sources(self) -> FactSources:
        return FactSources(datasets=Datasets(self), machines=Machines(self), models=Models())


class Machines:
    """The world's machine."""

    def __init__(self, world: World) -> None:
        self.world = world

    def fetch(self) -> Machine:
        self.world.asked += 1
        return self.world.machine


class Datasets:
    """The world's data."""

    def __init__(self, world: World) -> None:
        self.world = world

    def fetch(self, data: Data, method: Method) -> Dataset:
        assert (data.path, method) == ("data.jsonl", Method.SFT)
        if isinstance(self.world.dataset, SourceError):
            raise self.world.dataset
        return self.world.dataset


class Models:
    """A model folder without weights."""

    def fetch(self, model: Model) -> ModelFacts:
        assert model.path == "m"
        return ModelFacts(files=frozenset({"config.json"}))


def job(**where: Any) -> Job:
    return Job.model_validate({"method": "sft", "model": "m", "dataset": "data.jsonl", "where": where})


def test_facts_are_gathered_by_name_and_once() -> None:
    """Each fact comes from its door; the machine is asked once, however many facts it gives; others not at all."""
    world = World(Machine(cpus=2, gpus=(T4, T4), hub_token=True, variables=frozenset({"A"})), Dataset(rows=1))
    names = ("machine", "processes", "hub_token", "variables", "dataset", "model")

    assert gather(names, JobFacts(job(), world.sources, document=UNNAMED)) == {
        "machine": world.machine,
        "processes": 2,
        "hub_token": True,
        "variables": {"A"},
        "dataset": Dataset(rows=1),
        "model": ModelFacts(files=frozenset({"config.json"})),
    }
    assert world.asked == 1
    assert gather((), JobFacts(job(), world.sources, document=UNNAMED)) == {}


def test_what_a_door_cannot_tell_is_missing() -> None:
    """A door that fails leaves its reason in the place of the fact."""
    world = World(Machine(cpus=1), SourceError("the Hub does not answer", where="x", fix="wait"))

    assert gather(["dataset"], JobFacts(job(), world.sources, document=UNNAMED)) == {
        "dataset": MissingFact("the Hub does not answer")
    }


def test_another_machine_is_not_taken_for_this_one() -> None:
    """Elsewhere the hardware is not known, nor how many processes that makes unless the job says so."""
    world = World(Machine(cpus=2, gpus=(T4,)), Dataset())
    facts = gather(("machine", "processes"), JobFacts(job(backend="slurm"), world.sources, document=UNNAMED))

    assert facts == dict.fromkeys(("machine", "processes"), MissingFact("the job runs on slurm, not here"))
    assert gather(
        ["processes"], JobFacts(job(backend="slurm", nodes=2, processes=4), world.sources, document=UNNAMED)
    ) == {"processes": 8}


@pytest.mark.parametrize(("gpus", "asked", "count"), [(0, "auto", 1), (2, "auto", 2), (2, 1, 1), (0, 2, 2)])
def test_processes_are_one_a_gpu_unless_said(gpus: int, asked: object, count: int) -> None:
    """At least one process, one for each GPU, or as many as the job says."""
    assert process_count(Machine(cpus=1, gpus=(T4,) * gpus), job(processes=asked)) == count


def test_files_to_evaluate_on_that_are_not_there(tmp_path: Path) -> None:
    """Of datasets and of benchmark tasks; names on the Hub and in lm-eval's registry are no files."""
    (tmp_path / "tasks").mkdir()
    for name in ("test.jsonl", "tasks/sums.yaml"):
        (tmp_path / name).touch()
    named = Evaluation(
        dataset=["test.jsonl", "tset.jsonl", "openai/gsm8k"],
        task=["arc_easy", "tasks/sums.yaml", "tasks/sms.yaml", "./gone"],
    )
    wanted = job().model_copy(update={"evaluate": [named]})
    world = World(Machine(cpus=1), Dataset())
    sources = replace(
        world.sources, outside=ReferenceResolver(LocalFolders([tmp_path], walked=False), FakeHub, waits=True)
    )

    assert gather(["absent_data"], JobFacts(wanted, sources, document=UNNAMED)) == {
        "absent_data": {"tset.jsonl": "test.jsonl", "tasks/sms.yaml": "tasks/sums.yaml", "./gone": ""}
    }


def test_every_fact_that_a_rule_names_can_be_gathered() -> None:
    """No rule asks for a fact that no door gives."""
    world = World(Machine(cpus=1), Dataset(rows=1))
    sources = replace(world.sources, outside=ReferenceResolver(LocalFolders([], walked=False), FakeHub, waits=True))
    document = Document(path="job.yaml", kind="job", values={"model": "m", "dataset": "data.jsonl"})
    facts = gather(needed_facts(all_rules()) - OF_ROWS - OF_FINDINGS, JobFacts(job(), sources, document))

    assert not [fact for fact in facts.values() if isinstance(fact, MissingFact)]
