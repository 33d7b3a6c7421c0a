"""The Python files and templates that a job names, as its rules read them: what they define, or why they cannot be used."""

import ast
from collections.abc import Iterator

from holdfast.catalog.calls.completion_use import completion_use
from holdfast.catalog.calls.returned_values import kind_returned
from holdfast.catalog.models.chat_templates import ENDINGS
from holdfast.core.check.facts import NamedFile
from holdfast.core.job.calls import LocalName
from holdfast.core.job.parameters import parameter_names, required_parameters
from holdfast.core.job_file.job import Job
from holdfast.engine.script.carried_files import names_bound

PYTHON = ".py"


def named_files(job: Job) -> Iterator[str]:
    """Yield each file that a job names for its functions and its chat template, as the job spells it."""
    evaluated = [name for each in job.evaluate for name in (*each.metric, *each.rewards)]
    functions = filter(None, (*job.rewards, job.dataset.map, *job.samples.metric, *evaluated))
    modules = (text.rpartition(":")[0] for text in functions)
    yield from dict.fromkeys(module for module in modules if module.endswith(PYTHON))
    if job.model.chat_template and job.model.chat_template.endswith(ENDINGS):
        yield job.model.chat_template


def describe_file(name: str, text: str) -> NamedFile:
    """Return the facts about a file's content.

    >>> describe_file("own.py", "def score(completions, answer, scale=1): ...").functions["score"].required
    ('completions', 'answer')
    """
    if not name.endswith(PYTHON):
        return NamedFile()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        return NamedFile(problem=f"`{name}` is not valid Python{line}: {error.args[0]}")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    plain = [node for node in functions if not node.decorator_list]
    return NamedFile(
        names=frozenset(names_bound(tree)), functions={node.name: _describe_function(node) for node in plain}
    )


def _describe_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> LocalName:
    return LocalName(
        node.name,
        "function",
        parameter_names(node.args),
        node.args.kwarg is not None,
        kind_returned(node),
        required=required_parameters(node.args),
        completions=completion_use(node),
    )
