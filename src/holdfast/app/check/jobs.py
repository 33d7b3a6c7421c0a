"""Asking the rules about a job file."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from holdfast.adapters.backends import backend_names
from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.foreign_files import is_there
from holdfast.adapters.local.datasets import LocalDatasets
from holdfast.adapters.local.models import LocalModels
from holdfast.adapters.targets import Target, read_beside
from holdfast.app.check.target_request import INSPECTED, local_rows
from holdfast.app.hub_access import HubAccess, job_folder
from holdfast.app.own_prices import own_hardware_of
from holdfast.core.check.finding import Finding, Rule, Skip
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document, Set
from holdfast.core.job_file.job import Job
from holdfast.core.rows.scan import Scan
from holdfast.core.text.places import Place
from holdfast.engine.check.answers import CheckedTarget
from holdfast.engine.check.gather import gather
from holdfast.engine.check.hub_facts import ReferenceResolver, applicable_rules
from holdfast.engine.check.job_facts import FactSources, JobFacts
from holdfast.engine.check.renamed import check_with_renames
from holdfast.engine.check.rule_runner import needed_facts, run_rules

LOCKED = ("trl", "transformers", "peft")


def check(
    target: Target, job: Job, rules: Sequence[Rule], outside: ReferenceResolver, hub: HubAccess = HubAccess.ASKED
) -> CheckedTarget:
    """Check a job file, given its job, and whether the Hub is contacted about it."""
    folder, rows = job_folder(target.document, hub), local_rows(target, hub)
    sources = FactSources(
        datasets=LocalDatasets(folder),
        machines=LocalMachine(),
        models=LocalModels(folder),
        outside=outside,
        read_rows=partial(_read_rows, target.document, rows) if rows else None,
        backends=backend_names(),
        read_file=partial(read_beside, job_path=target.document.path),
        own_hardware=partial(own_hardware_of, target.document.path),
    )
    facts = JobFacts(job, sources, target.document)
    ours = [rule for rule in applicable_rules(rules, target.document, facts) if not rule.needs & INSPECTED]
    known = gather(needed_facts(ours), facts, awaited=facts.awaited)
    results = list(check_with_renames(target.document, lambda document: run_rules(ours, document, known)))
    return CheckedTarget(
        document=target.document,
        method=job.method.value,
        resolved={name: facts.api.versions[name] for name in LOCKED},
        because="the versions that a job file gets",
        findings=tuple(result for result in results if isinstance(result, Finding)),
        skips=tuple(result for result in results if isinstance(result, Skip)),
        place_edits=target.place_edits,
    )


def _read_rows(document: Document, path: Path) -> Scan:
    """Return a scan of the rows at a path.

    Raises:
        SourceError: There are none, or they cannot be read.
    """
    if not is_there(path):
        raise SourceError(f"no such file or folder: {path.name}", where=str(path), fix="correct its path")
    from holdfast.app.inspect.small import scan_small  # which imports polars

    return scan_small(document.with_values([Set("dataset.path", str(path))], Place(document.path)))
