"""Key that has no effect where the job runs.

## What it does
Checks for keys of the job file that the job's backend, its tracker or its method does not read.

## Why is this bad
You expect the hardware, a budget or a group of runs to take effect. The run does everything else, and silently ignores
the key.

## Fix safety
There is no automatic fix: removing the key would drop what you asked for. Do it by hand, or continue without it.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import ABSENT, Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.job.trackers import TRACKER_KEYS
from holdfast.core.run.backends import BackendCapabilities, backend_of

# Why a key has no effect.
UNCHOSEN = {"where.hardware": "the hardware of this machine cannot be chosen"}
UNEXPORTED = {"output.export_on": "`output.gguf` names no files to make"}
PERMITTED = "hardware"
SPIKE = "loss_spike"
UNPRICED = {"where.budget_usd": "this backend has no prices"}


def check(job: Document) -> Iterator[Finding]:
    """Report each key with a value that has no effect."""
    backend = backend_of(job)
    for key, instead in _idle_keys(job, backend).items():
        if job.get(key) not in (ABSENT, None, [], {}):
            yield Finding(key, f"`{key}` has no effect: {instead}")
    if PERMITTED in _listed(job.get("recover.allow", [])) and not backend.has_flavors:
        fault = f"`{PERMITTED}` of `recover.allow` has no effect: the {backend.name} backend has no other"
        yield Finding("recover.allow", fault)
    if SPIKE in _listed(job.get("recover.allow", [])) and job.get("method", "") in ONLINE:
        yield Finding(
            "recover.allow", f"`{SPIKE}` of `recover.allow` has no effect: the losses of rewards are not judged"
        )
    yield from _machines(job, backend)


def _idle_keys(job: Document, backend: BackendCapabilities) -> dict[str, str]:
    """Return the keys that a job's backend, export and tracker do not read, and why each has no effect."""
    return {
        **({} if backend.chooses_hardware else UNCHOSEN),
        **({} if backend.has_flavors else UNPRICED),
        **({} if job.get("output.gguf", []) else UNEXPORTED),
        **_untracked(job),
    }


def _machines(job: Document, backend: BackendCapabilities) -> Iterator[Finding]:
    nodes = job.get("where.nodes", 1)
    if not backend.spans_machines and isinstance(nodes, int) and nodes > 1:
        message = f"the {backend.name} backend has one machine, not {nodes}"
        yield Finding("where.nodes", message, severity=Severity.ERROR)


def _untracked(job: Document) -> dict[str, str]:
    """Return the keys that the job's tracker does not read, and why each has no effect."""
    tracker = job.get("track.with", "")
    if tracker in (ABSENT, ""):
        return {f"track.{key}": "`track.with` names no tracker" for key in TRACKER_KEYS["trackio"]}
    if (
        not isinstance(tracker, str) or tracker not in TRACKER_KEYS or tracker == "none"
    ):  # `none` turns tracking off for a while
        return {}
    instead = f"{tracker} does not read it"
    return {f"track.{key}": instead for key in TRACKER_KEYS["trackio"] if key not in TRACKER_KEYS[tracker]}


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
"""

GENERATES = JOB.replace("sft", "grpo") + "rewards: [accuracy_reward]\n"

RULE = Rule(
    code="JOB103",
    name="idle-key",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="This version's own code: `app/run/verb.py` and the template of the training script read none of these keys.",
    bad=(
        Case(job=JOB + "recover: {allow: [hardware]}\n", at="recover.allow"),
        Case(job=JOB + "where: {budget_usd: 10}\n", at="where.budget_usd"),
        Case(job=JOB + "output: {export_on: cpu-box}\n", at="output.export_on"),
        Case(job=JOB + "where: {hardware: a10g-large}\n", at="where.hardware"),
        Case(job=JOB + "where: {nodes: 2}\n", at="where.nodes"),
        Case(job=JOB + "track: {with: tensorboard, project: rates, group: warm-up}\n", at="track.group"),
        Case(job=JOB + "track: {project: rates}\n", at="track.project"),
        Case(job=GENERATES + "recover: {allow: [loss_spike]}\n", at="recover.allow"),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB + "recover: {attempts: 2, allow: [batch_size, optimizer]}\n"),
        Case(job=JOB + "recover: {allow: [loss_spike]}\n"),
        Case(job=JOB + "output: {push_to: me/model, gguf: [q4_k_m]}\nwhere: {nodes: 1}\n"),
        Case(job=JOB + "track: {with: wandb, project: rates, group: warm-up, run: first}\n"),
        Case(job=JOB + "track: {with: none, project: rates}\n"),
        Case(job=JOB + "where: {backend: hf-jobs, hardware: a10g-large, timeout: 4h}\n"),
    ),
)
