"""Evaluation that cannot run as configured.

## What it does
Checks each evaluation under `evaluate` of a job file: whether holdfast knows its metrics, whether its conditions have
the form `METRIC=NUMBER`, whether the files of its own metrics and rewards define these functions, and whether its
data files and the files of its benchmark tasks exist. Checks the metrics of `samples.metric`, too.

## Why is this bad
The evaluation fails after the training has ended, and the run's exit code is 1. With an unknown metric in
`samples.metric`, no training script is written.

## Fix safety
The fix is unsafe: it writes the nearest name, if one is clearly the nearest, and you may mean another one.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from holdfast.catalog.metrics import METRICS, OF_ANSWERS, parse_at_least
from holdfast.catalog.trl_rewards import TRL_REWARDS
from holdfast.core.check.facts import NamedFile
from holdfast.core.check.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.text.nearest import nearest


def check(job: Document, files: Mapping[str, NamedFile], absent_data: Mapping[str, str]) -> Iterator[Finding]:
    """Report each metric, condition, function and file of an evaluation that does not exist."""
    yield from _metrics(job, "samples.metric", OF_ANSWERS, files)
    given = job.get("evaluate", None)
    for index in range(len(given) if isinstance(given, list) else 0):
        yield from _evaluation(job, f"evaluate.{index}", files, absent_data)


def _evaluation(
    job: Document, above: str, files: Mapping[str, NamedFile], absent_data: Mapping[str, str]
) -> Iterator[Finding]:
    for key, name in (*_texts(job, f"{above}.dataset"), *_texts(job, f"{above}.task")):
        if name in absent_data:
            near = absent_data[name]
            yield Finding(key, f"there is no file `{name}`{_hint(near)}", _renaming(key, near))
    functions = [name for _, name in (*_texts(job, f"{above}.metric"), *_texts(job, f"{above}.rewards"))]
    yield from _metrics(job, f"{above}.metric", METRICS, files)
    for key, name in _texts(job, f"{above}.rewards"):
        yield from _function(key, name, files) if ":" in name else _reward(key, name)
    yield from _conditions(job, above, functions)


def _conditions(job: Document, above: str, functions: Sequence[str]) -> Iterator[Finding]:
    has_tasks = job.get(f"{above}.task", None) not in (None, [])  # only a task knows its metrics
    for key, text in _texts(job, f"{above}.at_least"):
        if not has_tasks or parse_at_least(text) is None:
            yield from _condition(key, text, functions)


def _metrics(job: Document, above: str, known: Collection[str], files: Mapping[str, NamedFile]) -> Iterator[Finding]:
    for key, name in _texts(job, above):
        yield from _function(key, name, files) if ":" in name else _metric(key, name, known)


def _texts(job: Document, key: str) -> Iterator[tuple[str, str]]:
    """Yield each text of a key that has one, or a list of them, with its own key."""
    value = job.get(key, None)
    listed = [(f"{key}.{at}", each) for at, each in enumerate(value)] if isinstance(value, list) else [(key, value)]
    return ((each, text) for each, text in listed if isinstance(text, str))


def _metric(key: str, name: str, known: Collection[str]) -> Iterator[Finding]:
    if name not in known:
        near = nearest(name, tuple(known))
        hint = _hint(near) or f"; there is {', '.join(known)}, or your own as `file.py:function`"
        yield Finding(key, f"no metric is called `{name}`{hint}", _renaming(key, near))


def _reward(key: str, name: str) -> Iterator[Finding]:
    if name not in TRL_REWARDS:
        near = nearest(name, tuple(TRL_REWARDS))
        hint = _hint(near) or "; name one of TRL's, or `file.py:function`"
        yield Finding(key, f"there is no reward function `{name}`{hint}", _renaming(key, near))


def _function(key: str, text: str, files: Mapping[str, NamedFile]) -> Iterator[Finding]:
    module, _, name = text.rpartition(":")
    file = files.get(module)
    if file is None:
        return  # of an imported module
    if file.problem:
        yield Finding(key, file.problem)
    elif file.names and name not in file.names:
        near = nearest(name, tuple(sorted(file.names)))
        yield Finding(key, f"`{module}` defines no `{name}`{_hint(near)}", _renaming(key, near and f"{module}:{near}"))


def _condition(key: str, text: str, functions: Sequence[str]) -> Iterator[Finding]:
    condition, known = parse_at_least(text), (*METRICS, *functions)
    if condition is None:
        yield Finding(key, f"`{text}` is not a condition: write METRIC=NUMBER, such as `accuracy=0.6`")
    elif condition.metric not in known:
        near = nearest(condition.metric, known)
        hint = _hint(near) or f"; there is {', '.join(known)}"
        yield Finding(
            key,
            f"no metric is called `{condition.metric}`{hint}",
            _renaming(key, near and f"{near}={condition.bound:g}"),
        )


def _hint(near: str | None) -> str:
    return f"; did you mean `{near}`?" if near else ""


def _renaming(key: str, near: str | None) -> Fix | None:
    return Fix(f"write `{near}`", (Set(key, near),), safe=False) if near else None


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
evaluate: [{dataset: test.jsonl, metric: [exact_match, "own.py:score"], at_least: exact_match=0.6, rewards: think_format_reward}]
"""
FACTS: dict[str, object] = {"files": {"own.py": NamedFile(names=frozenset({"score"}))}, "absent_data": {}}
MEASURED = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: trl-lib/Capybara, eval_fraction: 0.1}
samples: {metric: [exact_match, "own.py:score"]}
"""
ABSENT = NamedFile(
    problem="`own.py` is neither in the job file's folder nor in the working directory; name a Python file"
)

RULE = Rule(
    code="EVL107",
    name="unmeasurable-evaluation",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "holdfast itself: `app/evaluate/asking.py` and `engine/script/measured.py` refuse the same. Each was tried with `holdfast evaluate` and "
        "`holdfast render`."
    ),
    bad=(
        Case(job=JOB.replace("[exact_match", "[exact_mach"), facts=FACTS, at="evaluate.0.metric.0", fixed=JOB),
        Case(
            job=JOB.replace("at_least: exact_match", "at_least: exact_mach"),
            facts=FACTS,
            at="evaluate.0.at_least",
            fixed=JOB,
        ),
        Case(job=JOB.replace("exact_match=0.6", "exact_match"), facts=FACTS, at="evaluate.0.at_least"),
        Case(job=JOB.replace("own.py:score", "own.py:scor"), facts=FACTS, at="evaluate.0.metric.1", fixed=JOB),
        Case(job=JOB, facts={**FACTS, "files": {"own.py": ABSENT}}, at="evaluate.0.metric.1"),
        Case(job=JOB.replace("think_format_reward", "think_reward"), facts=FACTS, at="evaluate.0.rewards", fixed=JOB),
        Case(
            job=JOB.replace("test.jsonl", "tset.jsonl"),
            facts={**FACTS, "absent_data": {"tset.jsonl": "test.jsonl"}},
            at="evaluate.0.dataset",
            fixed=JOB,
        ),
        Case(
            job=JOB.replace("{dataset: test.jsonl", "{task: [arc_easy, tasks/sms.yaml]"),
            facts={**FACTS, "absent_data": {"tasks/sms.yaml": "tasks/sums.yaml"}},
            at="evaluate.0.task.1",
            fixed=JOB.replace("{dataset: test.jsonl", "{task: [arc_easy, tasks/sums.yaml]"),
        ),
        Case(job=MEASURED.replace("exact_match", "exact_mach"), facts=FACTS, at="samples.metric.0", fixed=MEASURED),
        Case(job=MEASURED.replace("exact_match", "perplexity"), facts=FACTS, at="samples.metric.0"),
        Case(job=MEASURED.replace("own.py:score", "own.py:scor"), facts=FACTS, at="samples.metric.1", fixed=MEASURED),
    ),
    good=(
        Case(job=MEASURED, facts=FACTS),
        Case(job=JOB, facts=FACTS),
        Case(
            job=JOB.replace("{dataset: test.jsonl", "{task: hellaswag").replace("exact_match=0.6", "acc_bytes=0.6"),
            facts=FACTS,
        ),
        Case(job=JOB.partition("evaluate")[0], facts={"files": {}, "absent_data": {}}),
    ),
)
