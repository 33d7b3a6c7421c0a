"""Backend that holdfast does not have.

## What it does
Checks `where.backend` of a job file against the backends of this version of holdfast.

## Why is this bad
`holdfast run` refuses the job. Until then, every rule about the machine is skipped, because the machine is unknown.

## Fix safety
The fix is unsafe: it writes the nearest name, and you may mean another backend.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.run.backends import BACKEND_KEY, LOCAL, SLURM, offered
from holdfast.core.text.nearest import nearest


def check(job: Document, backends: frozenset[str]) -> Iterator[Finding]:
    """Report a backend that holdfast does not have."""
    backend = job.get(BACKEND_KEY, None)
    if not isinstance(backend, str) or backend in backends:
        return
    known = offered(backends)
    near = nearest(backend, tuple(known))
    fix = Fix(f"use {near}", (Set(BACKEND_KEY, near),), safe=False) if near else None
    yield Finding(BACKEND_KEY, f"no backend is called {backend!r}; use one of {', '.join(known)}", fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
where: {backend: local, timeout: 1h}
"""
FACTS: dict[str, object] = {"backends": frozenset({LOCAL.name})}

RULE = Rule(
    code="JOB119",
    name="unknown-backend",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="holdfast itself: `holdfast run` looks the name up in the same table, and says the same.",
    bad=(
        Case(job=JOB.replace("local", "loca"), facts=FACTS, at=BACKEND_KEY, fixed=JOB),
        Case(job=JOB.replace("local", "banana"), facts=FACTS, at=BACKEND_KEY),
        Case(job=JOB.replace("local", "slurm"), facts=FACTS, at=BACKEND_KEY),
    ),
    good=(
        Case(job=JOB, facts=FACTS),
        Case(job=JOB.replace("where: {backend: local, timeout: 1h}\n", ""), facts=FACTS),
        Case(job=JOB.replace("local", "slurm"), facts={"backends": frozenset({LOCAL.name, SLURM.name})}),
    ),
)
