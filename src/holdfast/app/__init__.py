"""The verbs. This is the only layer that connects decisions to the real world.

Each takes plain values and returns its result, a type of `holdfast.results`. The commands, the functions of the Python
API and their order follow `VERBS`. A verb's module is imported when the verb is used, so that a quick one stays quick.
"""

from collections.abc import Callable, Mapping
from functools import cache, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from holdfast.core.errors import flatten
from holdfast.results import Json, Result, to_json

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

VERBS: Mapping[str, str] = {
    "check": "Check scripts, notebooks, command lines and job files.",
    "inspect": "Inspect a dataset: its format, its rows, the methods it fits.",
    "plan": "Estimate a job's memory, time and cost; find hardware that fits.",
    "rehearse": "Run a job end to end on a tiny twin of its model.",
    "render": "Write the training script of a job, or those of a study.",
    "explain": "Explain a rule, a class of failure, or the job file.",
    "run": "Check, rehearse, start and supervise a job.",
    "resume": "Continue a run from its newest complete checkpoint.",
    "stop": "Stop a run after it saves a checkpoint.",
    "runs": "List runs.",
    "show": "Show the status and the result of a run.",
    "logs": "Print the output of a run's training process.",
    "watch": "Follow a run from any terminal.",
    "study": "Run many settings of one job, and find the best.",
    "evaluate": "Evaluate a model, with intervals, and compare it with its base.",
    "export": "Export a model: merge, convert to GGUF, and verify the result.",
    "diagnose": "Find the cause of a failure in logs.",
    "verify": "Verify that a checkpoint or model folder is complete.",
    "doctor": "Check this machine, its libraries and the Hub.",
    "catalog": "Keep the catalog of library releases up to date.",
}
"""Each verb with its summary, in the order in which people need them. A verb is a function in `app/<verb>/verb.py`."""


def load_verb(name: str) -> Callable[..., Any]:
    """The function of a verb.

    >>> load_verb("verify").__name__
    'verify'
    """
    verb: Callable[..., Any] = getattr(import_module(f".{name}.verb", __name__), name)
    return verb


@cache
def load_api(name: str) -> Callable[..., Any]:
    """The function of a verb for the Python API: it answers with JSON, `render` with text, and raises HoldfastError alone."""
    verb = with_file_errors(load_verb(name))
    return verb if name == "render" else in_json(verb)


def with_file_errors(verb: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """A verb that raises HoldfastError for a file that cannot be read or written."""

    @wraps(verb)
    def answer(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        try:
            return verb(*args, **kwargs)
        except OSError as error:
            if not (errors := flatten(error)):
                raise
            raise errors[0] from error

    return answer


def in_json(verb: Callable[Parameters, Result]) -> Callable[Parameters, Json]:
    """Return a verb that answers with the object that `--format json` prints."""

    @wraps(verb)
    def answer(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Json:
        return to_json(verb(*args, **kwargs))

    answer.__annotations__ = {**verb.__annotations__, "return": Json}
    return answer
