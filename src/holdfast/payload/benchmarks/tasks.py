"""Loaded tasks: what they ask of a model, and the scores of its responses, both by lm-eval's own code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lm_eval.evaluator import evaluate

from ..calls import RaisedCall, attempt, attempt_aloud, describe_error, shorten_error
from .finding import TaskRegistry
from .recorded import RecordedModel, call_of
from .scores import describe_sample, score_metrics

HUB = ("ConnectionError", "OfflineModeIsEnabled", "LocalEntryNotFoundError", "DatasetNotFoundError", "HfHubHTTPError")
"""Errors of data that cannot be downloaded."""


class FewRowsError(Exception):
    """A task has fewer rows to take examples from than it needs."""


@dataclass
class LoadedTasks:
    """The tasks of an evaluation.

    Attributes:
        tasks: The tasks by name.
        specs: By what each of them was named.
        configs: What each of them was configured with, as JSON.
        groups: The groups by name.
        prepared: For each task and model, what it requested.
        results: For each task and model, lm-eval's own result.
    """

    tasks: dict[str, Any] = field(default_factory=dict)
    specs: dict[str, str] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Any] = field(default_factory=dict)
    prepared: dict[tuple[str, str], dict[tuple[Any, ...], str]] = field(default_factory=dict)
    results: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """Return the facts about tasks and groups."""
        tasks = [_describe(name, task) | {"spec": self.specs[name]} for name, task in self.tasks.items()]
        groups = [
            {
                "name": name,
                "tasks": [task.task_name for task in group.get_all_tasks()],
                "version": group.version,
                "by_rows": all(each.weight_by_size for each in group.aggregate_metric_list or ()),
            }
            for name, group in self.groups.items()
            if group.has_aggregation
        ]
        return {"tasks": tasks, "groups": groups}

    def prepare(  # noqa: PLR0913 - what requests depend on
        self,
        *,
        task: str,
        model: str,
        tokenizer: str,
        template: str | None,
        chat: bool,
        limit: int | None,
        out: str,
        seed: int,
    ) -> dict[str, Any]:
        """Write what a task asks of a model for each row: `row`, `prompt`, `calls`, the row's own `columns` and `text`."""
        one = self.tasks[task]
        one.set_fewshot_seed(seed=seed)
        reader = RecordedModel.open(tokenizer if chat else None, template)
        one.build_all_requests(
            limit=limit,
            rank=0,
            world_size=1,
            apply_chat_template=chat,
            fewshot_as_multiturn=True,
            chat_template=reader.apply_chat_template if chat else None,
            tokenizer_name="",
        )
        requested: dict[tuple[Any, ...], str] = {}
        rows: dict[int, dict[str, Any]] = {}
        for instance in one.instances:
            key, call = call_of(instance)
            requested[key] = json.dumps(call["args"])
            columns = instance.doc if isinstance(instance.doc, dict) else {"doc": instance.doc}
            row = rows.setdefault(
                instance.doc_id,
                {"row": instance.doc_id, "calls": [], "columns": columns, "text": _own_text(one, instance.doc)},
            )
            row["calls"].append(call)
        for row in rows.values():
            first = row["calls"][0]
            row["prompt"] = "" if first["type"] == "loglikelihood_rolling" else first["args"][0]
        self.prepared[task, model] = requested
        lines = (json.dumps(rows[number], default=str) + "\n" for number in sorted(rows))
        Path(out).write_text("".join(lines), encoding="utf-8")
        return {"rows": len(rows)}

    def score(  # noqa: PLR0913 - what requests depend on
        self, *, task: str, model: str, tokenizer: str, template: str | None, chat: bool, limit: int | None, outputs: str, out: str,
        seed: int, allow_code: bool,
    ) -> dict[str, Any]:  # fmt: skip
        """Write what lm-eval makes of a model's responses: the metrics, and for each row the answer and the right one."""
        one = self.tasks[task]
        one.set_fewshot_seed(seed=seed)
        lines = Path(outputs).read_text(encoding="utf-8").splitlines()
        responses = {each["row"]: each["responses"] for each in map(json.loads, lines)}
        recorded = RecordedModel.open(tokenizer if chat else None, template)
        recorded.remember(self.prepared[task, model], responses)
        found: Any = evaluate(
            lm=recorded,
            task_dict={"tasks": {task: one}, "groups": {}, "group_map": {}},
            limit=limit,
            bootstrap_iters=0,
            log_samples=True,
            apply_chat_template=chat,
            fewshot_as_multiturn=True,
            confirm_run_unsafe_code=allow_code,
        )
        self.results[task, model] = found["results"][task]
        samples = found["samples"][task]
        first = samples[0]["filter"]
        scored = {
            "metrics": score_metrics(one, samples, found["results"][task], found["higher_is_better"][task]),
            "rows": [describe_sample(one, each) for each in samples if each["filter"] == first],
        }
        Path(out).write_text(json.dumps(scored, default=str), encoding="utf-8")
        return {"rows": len(scored["rows"])}

    def combine(self, model: str) -> dict[str, dict[str, float]]:
        """Return the values of groups whose tasks all have results, by metric and filter."""
        metrics = {task: result for (task, of), result in self.results.items() if of == model}
        found: dict[str, dict[str, float]] = {}
        for name, group in self.groups.items():
            tasks = {task.task_name for task in group.get_all_tasks()}
            if group.has_aggregation and tasks <= metrics.keys():
                found[name] = _values(group.aggregate(metrics))
        return found


def _values(aggregated: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of metrics, named with their filters as `acc,none`, without their standard errors."""
    return {key: float(value) for key, value in aggregated.items() if "," in key and "_stderr," not in key}


def load_tasks(registry: TaskRegistry, few_shot: int | None, seed: int) -> tuple[LoadedTasks, list[dict[str, Any]]]:
    """Return the tasks with their data; those whose data cannot be had, or that are not what lm-eval takes, with the reason."""
    loaded, failed = LoadedTasks(), list[dict[str, Any]]()
    for spec, one in ((spec, name) for spec, names in registry.wanted.items() for name in names):
        found = attempt_aloud(partial(_load, registry, one, loaded, few_shot, seed))
        if isinstance(found, RaisedCall):
            failed.append({"spec": one, **describe_failure(found.error)})
            continue
        for name, task in found["tasks"].items():
            loaded.tasks.setdefault(name, task)
            loaded.specs.setdefault(name, spec)
        loaded.groups |= found["groups"]
    return loaded, failed


def _load(registry: TaskRegistry, name: str, loaded: LoadedTasks, few_shot: int | None, seed: int) -> dict[str, Any]:
    """Load a task or a group; raise if one of its tasks cannot be evaluated so."""
    found: dict[str, Any] = registry.manager.load([name])
    for each, task in found["tasks"].items():
        _want(task, each, loaded, few_shot)
        task.set_fewshot_seed(seed=seed)
    return found


def describe_failure(error: BaseException) -> dict[str, str]:
    """Return an error in one line, and its kind."""
    names = {type(each).__name__ for each in _chain(error)}
    kind = "few shot" if isinstance(error, FewRowsError) else "hub" if names & set(HUB) else "task"
    return {"because": shorten_error(error) if kind == "few shot" else describe_error(error), "kind": kind}


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _want(task: Any, name: str, loaded: LoadedTasks, few_shot: int | None) -> None:
    """Set the number of examples as lm-eval's command line does; raise if a task cannot be evaluated so."""
    if getattr(task, "MULTIMODAL", False):
        raise ValueError(f"{name} needs images or sounds, and the model reads texts")
    config = json.dumps(task.dump_config(), default=str)
    if loaded.configs.setdefault(name, config) != config:
        raise ValueError(f"two different tasks are called {name}: rename one, or evaluate them one after the other")
    if few_shot is not None and task.get_config("num_fewshot") != 0:
        task.set_config(key="num_fewshot", value=few_shot)
    elif task.get_config("num_fewshot") is None:
        task.set_config(key="num_fewshot", value=0)
    _want_examples(task, name)


def _want_examples(task: Any, name: str) -> None:
    """Raise if a task has fewer rows to take examples from than it needs: of its own split, one more, since no row is its own example."""
    sampler, shots = getattr(task, "sampler", None), task.get_config("num_fewshot")
    if sampler is None or not shots:
        return
    of_own = task.fewshot_cfg.split == task.config.test_split
    there = len(sampler.df) - of_own
    if shots > there:
        raise FewRowsError(f"{name} has {there} rows to take examples from, and {shots} are asked for")


def _own_text(task: Any, doc: Any) -> str:
    """Return what a row itself adds to its prompt: without examples, description and chat template."""
    text = attempt(lambda: task.doc_to_text(doc))  # a task's own code; the request was built without it
    return text if isinstance(text, str) else ""


def _describe(name: str, task: Any) -> dict[str, Any]:
    config = task.config
    return {
        "name": name,
        "version": str(task.VERSION),
        "few_shot": task.get_config("num_fewshot") or 0,
        "output_type": str(task.OUTPUT_TYPE),
        "split": task.get_config("test_split") or task.get_config("validation_split") or "",
        "of": len(task.eval_docs),
        "generation": json.loads(json.dumps(getattr(config, "generation_kwargs", None) or {}, default=str)),
    }
