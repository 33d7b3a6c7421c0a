"""Files that a rendered script takes along: functions of the job's own, its chat template, built-in inputs."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from keyword import iskeyword

from holdfast.catalog.builtin import ANSWER_SCORES, DATASETS, MODELS, load_source
from holdfast.catalog.models.chat_templates import ENDINGS
from holdfast.catalog.trl_rewards import MODULE, TRL_REWARDS
from holdfast.core.errors import Spot, UsageError
from holdfast.core.job_file.job import Job
from holdfast.core.text.nearest import suggest_one
from holdfast.engine.script.python_source import render_literal


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function that a job names.

    Attributes:
        key: The job's key that names it.
        module: A file that travels with the script, or a module that is imported.
        name: The function's own.
    """

    key: str
    module: str
    name: str

    @property
    def is_carried(self) -> bool:
        """Whether it stands in a file that travels with the script."""
        return self.module.endswith(".py")

    @property
    def expression(self) -> str:
        """How the script refers to it, whatever names the script has of its own."""
        load = "load_file" if self.is_carried else "importlib.import_module"
        return self.name if self.module == MODULE else f"{load}({render_literal(self.module)}).{self.name}"


def map_function(job: Job) -> NamedFunction | None:
    """Return the function that `dataset.map` names.

    Raises:
        UsageError: Its name cannot be one in Python.
    """
    return _parse_function("dataset.map", job.dataset.map) if job.dataset.map else None


def reward_functions(job: Job) -> list[NamedFunction]:
    """Return the functions that `rewards` names.

    Raises:
        UsageError: One is neither TRL's own nor a file's.
    """
    return [_reward_function(text) for text in job.rewards]


def metric_functions(job: Job) -> list[NamedFunction]:
    """Return the job's own functions among the metrics that are computed while it trains.

    Raises:
        UsageError: The name of one cannot be one in Python.
    """
    return [_parse_function("samples.metric", text) for text in job.samples.metric if ":" in text]


def template_file(job: Job) -> str | None:
    """Return the file that the job's chat template stands in; None if it is a model's, or there is none."""
    template = job.model.chat_template or ""
    return template if template.endswith(ENDINGS) else None


def referred_files(job: Job) -> tuple[str, ...]:
    """Return the files that a job names and its script takes along, as the job spells them.

    Raises:
        UsageError: A function's name cannot be one.
    """
    named = [function.module for function in _functions(job) if function.is_carried]
    return tuple(dict.fromkeys([*named, *filter(None, [template_file(job)])]))


def carried_files(job: Job, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the text of every file that travels with the job's script.

    Args:
        job: The job.
        sources: The text of each of `referred_files`.

    Raises:
        UsageError: A file is not valid Python, or lacks the function that is named.
    """
    for function in _functions(job):
        if function.is_carried:
            _check_defined(function, sources[function.module])
    own = {file: sources[file] for file in referred_files(job)}
    builtin = {file: load_source(file) for file in _builtin_modules(job)}
    return {**own, **builtin}


def data_files(job: Job, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the text of every file that travels with a script which only reads the job's data.

    Args:
        job: The job.
        sources: The text of each of `referred_files`.

    Raises:
        UsageError: A file is not valid Python, or lacks the function that is named.
    """
    function = map_function(job)
    if function and function.is_carried:
        _check_defined(function, sources[function.module])
    own = {function.module: sources[function.module]} if function and function.is_carried else {}
    builtin = [DATASETS[job.dataset.path]] if job.dataset.path in DATASETS else []
    return {**own, **{file: load_source(file) for file in builtin}}


def _functions(job: Job) -> list[NamedFunction]:
    mapped = map_function(job)
    return reward_functions(job) + metric_functions(job) + ([mapped] if mapped else [])


def _builtin_modules(job: Job) -> Iterator[str]:
    if job.dataset.path in DATASETS or job.model.path in MODELS:
        yield from DATASETS.values()  # a built-in model's tokenizer is trained on the built-in dataset
    if job.model.path in MODELS:
        yield MODELS[job.model.path]
    if any(":" not in name for name in job.samples.metric):
        yield ANSWER_SCORES


def _reward_function(text: str) -> NamedFunction:
    if text in TRL_REWARDS:
        return NamedFunction("rewards", MODULE, text)
    if ".py:" not in text:
        fix = f"{suggest_one(text, list(TRL_REWARDS))}; one of your own is `file.py:function`"
        raise UsageError(f"no reward function is called {text!r}", where="rewards", fix=fix)
    return _parse_function("rewards", text)


def _parse_function(key: str, text: str) -> NamedFunction:
    module, _, name = text.rpartition(":")
    parts = [name] if module.endswith(".py") else [name, *module.split(".")]
    if not all(part.isidentifier() and not iskeyword(part) for part in parts):
        raise UsageError(f"{text!r} names no function", where=key, fix="write `file.py:function` or `module:function`")
    return NamedFunction(key, module, name)


def _check_defined(function: NamedFunction, source: str) -> None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        spot = Spot(function.module, getattr(error, "lineno", None), getattr(error, "offset", None))
        raise UsageError(
            f"{function.module} is not valid Python: {error.args[0]}", where=spot, fix="correct it"
        ) from error
    if function.name not in names_bound(tree):
        fix = f"define it, or correct `{function.key}`"
        raise UsageError(f"{function.module} defines no `{function.name}`", where=function.module, fix=fix)


def names_bound(tree: ast.Module) -> Iterator[str]:
    """Yield every name that a module gives a value, at whatever depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
