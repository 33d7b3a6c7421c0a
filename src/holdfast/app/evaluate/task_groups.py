"""Groups of benchmark tasks, as lm-eval weighs them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from holdfast.adapters.evaluation.benchmarks import BenchmarkGroup, HarnessError
from holdfast.adapters.evaluation.process import WorkFailure
from holdfast.app.evaluate.asking import EvaluationRequest
from holdfast.app.evaluate.benchmarks import BASE, MODEL, TASK_FIX, WITHOUT_VERSION
from holdfast.app.evaluate.data import EvaluationData
from holdfast.app.evaluate.datasets import PreparedDataset
from holdfast.app.evaluate.finished import FinishedWork
from holdfast.engine.evaluate.benchmarks import GivenMetric, group_metric
from holdfast.engine.evaluate.figures import EvaluatedRows
from holdfast.engine.evaluate.reading import ReadRows
from holdfast.results.evaluate import BenchmarkDetails

GroupValues = Mapping[str, Mapping[str, float]]
GroupMember = tuple[PreparedDataset, EvaluatedRows]


def combine_groups(request: EvaluationRequest, work: FinishedWork) -> None:
    """Add the groups whose tasks have all been evaluated; note why the others have no value."""
    if request.benchmarks is None or not work.groups:
        return
    try:
        values = request.benchmarks.session.combine(MODEL)
        base = request.benchmarks.session.combine(BASE)
    except HarnessError as error:
        for group in work.groups:
            work.fail(group.name, WorkFailure("", str(error), TASK_FIX))
        return
    done = {dataset.name: (dataset, rows) for dataset, rows in work.rows if dataset.benchmark}
    for group in work.groups:
        _combine(group, done, values, base, work)


def _combine(
    group: BenchmarkGroup, done: Mapping[str, GroupMember], values: GroupValues, base: GroupValues, work: FinishedWork
) -> None:
    """Add a group with the values that lm-eval combined from its tasks, or note which of these failed."""
    lacking = [name for name in group.tasks if name not in done]
    if lacking or group.name not in values:
        because = f"not all of its tasks were evaluated: {', '.join(lacking)} failed"
        work.fail(group.name, WorkFailure("", because, "correct what the tasks failed with"))
        return
    members = [done[name] for name in group.tasks]
    work.rows.append(_as_dataset(group, members, list(_metrics(group, members, values, base)), work))


def _as_dataset(
    group: BenchmarkGroup, members: list[GroupMember], given: list[GivenMetric], work: FinishedWork
) -> GroupMember:
    """Return a group as a dataset: the rows of its tasks, one after the other."""
    datasets, parts = [dataset for dataset, _ in members], [rows for _, rows in members]
    key = f"--task {group.name}"
    work.model.reused[key] = sum(work.model.reused[each.key] for each in datasets)
    rows = _joined(group.name, parts, given)
    dataset = PreparedDataset(
        name=group.name,
        key=key,
        data=EvaluationData(name=group.name, split="", of=sum(each.data.of for each in datasets), rows={}, columns={}),
        task="benchmark",
        read=ReadRows(examples=tuple(rows.examples)),
        metrics=(),
        kind="respond",
        benchmark=_details(group, members),
    )
    return dataset, rows


def _joined(name: str, parts: list[EvaluatedRows], given: list[GivenMetric]) -> EvaluatedRows:
    """Return the rows of several tasks as those of one dataset, numbered anew."""
    examples = chain.from_iterable(each.examples for each in parts)
    bases = [each.base for each in parts if each.base is not None]
    return EvaluatedRows(
        dataset=name,
        split="",
        task="benchmark",
        examples=tuple(replace(each, row=number) for number, each in enumerate(examples)),
        outputs=list(chain.from_iterable(each.outputs for each in parts)),
        base=list(chain.from_iterable(bases)) if len(bases) == len(parts) else None,
        cluster=parts[0].cluster,
        given=given,
    )


def _metrics(
    group: BenchmarkGroup, members: list[GroupMember], values: GroupValues, base: GroupValues
) -> Iterator[GivenMetric]:
    for key, value in values[group.name].items():
        name = key.removesuffix(",none")
        found = [each for _, rows in members for each in rows.given if each.name == name]
        yield group_metric(found, value, base.get(group.name, {}).get(key), by_rows=group.by_rows)


def _details(group: BenchmarkGroup, members: list[GroupMember]) -> BenchmarkDetails | None:
    first = members[0][0].benchmark
    shots = {dataset.benchmark.few_shot for dataset, _ in members if dataset.benchmark}
    if first is None:
        return None
    return BenchmarkDetails(
        harness=first.harness,
        version="" if group.version in WITHOUT_VERSION else group.version,
        output_type="",
        few_shot=shots.pop() if len(shots) == 1 else None,
        chat_template=first.chat_template,
        limit=first.limit,
        seed=first.seed,
        generation="",
        tasks=group.tasks,
        weights="rows" if group.by_rows else "tasks",
    )
