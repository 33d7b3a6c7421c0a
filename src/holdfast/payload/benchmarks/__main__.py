"""Answers commands: `find` task names, `load` tasks, `prepare` the calls of one for a model, `score` the responses, `combine` groups."""

import json
import random
import sys
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from ..calls import RaisedCall, attempt_aloud, bound_memory, claim_output, describe_error
from .finding import find_tasks
from .tasks import LoadedTasks, load_tasks

PYTHON_SEED, OTHER_SEED = 0, 1234
"""lm-eval's own: with them, a task that draws rows or examples draws the same."""


class Harness:
    """The tasks of an evaluation.

    Args:
        box: The folder for what is too long for a line.
    """

    def __init__(self) -> None:
        """Take the seeds of lm-eval's command line."""
        random.seed(PYTHON_SEED)
        np.random.seed(OTHER_SEED)  # noqa: NPY002 - the generator that tasks draw from
        self._registry: Any = None
        self._loaded = LoadedTasks()

    def find(self, *, specs: list[dict[str, Any]], allow_code: bool) -> dict[str, Any]:
        """Return what is wrong with the names of tasks, before anything is downloaded."""
        self._registry, problems = find_tasks(specs, allow_code=allow_code)
        return {"problems": problems, "version": version("lm-eval")}

    def load(self, *, few_shot: int | None) -> dict[str, Any]:
        """Return the tasks and groups, with their data downloaded, and why others cannot be loaded."""
        self._loaded, failed = load_tasks(self._registry, few_shot, OTHER_SEED)
        return {**self._loaded.describe(), "failed": failed}

    def prepare(self, **arguments: Any) -> dict[str, Any]:
        """Write down what a task asks of a model."""
        return self._loaded.prepare(seed=OTHER_SEED, **arguments)

    def score(self, **arguments: Any) -> dict[str, Any]:
        """Write down the scores of a model's responses."""
        return self._loaded.score(seed=OTHER_SEED, **arguments)

    def combine(self, *, model: str) -> dict[str, Any]:
        """Return the values of groups, as lm-eval weighs those of their tasks."""
        return {"groups": self._loaded.combine(model)}


def main() -> None:
    """Answer each line of standard input. Whatever the libraries print goes to standard error."""
    answers = claim_output()
    bound_memory()
    harness = Harness()
    for line in sys.stdin:
        command = json.loads(line)
        done = attempt_aloud(partial(getattr(harness, command.pop("command")), **command))
        answer = {"error": describe_error(done.error)} if isinstance(done, RaisedCall) else done
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
