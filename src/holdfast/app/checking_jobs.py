"""Asking the rules about a job file."""

from collections.abc import Sequence

from holdfast.adapters.datasets import LocalDatasets
from holdfast.adapters.machine import LocalMachine
from holdfast.adapters.models import LocalModels
from holdfast.adapters.targets import Target
from holdfast.core.finding import Finding, Rule, Skip
from holdfast.engine.answers import Checked
from holdfast.engine.check import needed_facts, run_rules
from holdfast.engine.gather import gather
from holdfast.engine.job_facts import JobFacts, Sources

TOLD = ("trl", "transformers", "peft")


def check(asked: Target, rules: Sequence[Rule], _: str) -> Checked:
    """Return what the rules say of a job file."""
    job = asked.job
    if job is None:
        raise TypeError("a target without a job is no job file")
    sources = Sources(datasets=LocalDatasets(), machines=LocalMachine(), models=LocalModels())
    ours = [rule for rule in rules if asked.document.kind in rule.kinds]
    facts = JobFacts(job, sources)
    results = list(run_rules(ours, asked.document, gather(needed_facts(ours), facts)))
    return Checked(
        document=asked.document,
        method=job.method.value,
        resolved={name: facts.api.versions[name] for name in TOLD},
        because="the versions that a job file gets",
        findings=tuple(result for result in results if isinstance(result, Finding)),
        skips=tuple(result for result in results if isinstance(result, Skip)),
        place_edits=asked.place_edits,
    )
