"""The verbs. This is the only layer that connects decisions to the real world.

Each takes plain values and returns its result, a type of `holdfast.results`. The command line, the Python API and
whatever faces follow are made from `VERBS`; a verb's module is imported when the verb is used, so that a quick one stays
quick.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from holdfast.core.errors import SourceError
from holdfast.results import Json, Result, to_json

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

VERBS: Mapping[str, str] = {
    "check": "holdfast.app.check.verb",
    "inspect": "holdfast.app.inspect.verb",
    "plan": "holdfast.app.plan.verb",
    "rehearse": "holdfast.app.rehearse.verb",
    "render": "holdfast.app.render.verb",
    "explain": "holdfast.app.explain.verb",
    "run": "holdfast.app.run.verb",
    "resume": "holdfast.app.run.verb",
    "stop": "holdfast.app.run.stopping",
    "runs": "holdfast.app.run.queries",
    "show": "holdfast.app.run.queries",
    "logs": "holdfast.app.run.queries",
    "watch": "holdfast.app.run.queries",
    "study": "holdfast.app.study.verb",
    "evaluate": "holdfast.app.evaluate.verb",
    "export": "holdfast.app.export.verb",
    "diagnose": "holdfast.app.diagnose.verb",
    "verify": "holdfast.app.run.queries",
    "doctor": "holdfast.app.doctoring",
    "catalog": "holdfast.app.cataloguing",
}


def load_verb(name: str) -> Callable[..., Any]:
    """Return the function of a verb.

    >>> load_verb("verify").__name__
    'verify'
    """
    return with_file_errors(getattr(import_module(VERBS[name]), name))


def with_file_errors(verb: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Return a verb whose error names the file that cannot be read or written, wherever it is used."""

    @wraps(verb)
    def answer(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        try:
            return verb(*args, **kwargs)
        except OSError as error:
            if not isinstance(error.filename, str | bytes):
                raise
            name = os.fsdecode(error.filename)
            what = f"{name:.200} cannot be used: {error.strerror}"
            raise SourceError(what, where=name[:200], fix="check the file and its permissions") from error

    return answer


@cache
def load_api(name: str) -> Callable[..., Any]:
    """Return the function of a verb for the Python API; `render` returns text in any case."""
    return load_verb(name) if name == "render" else in_json(load_verb(name))


def in_json(verb: Callable[Parameters, Result]) -> Callable[Parameters, Json]:
    """Return a verb that answers with the object that `--format json` prints."""

    @wraps(verb)
    def answer(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Json:
        return to_json(verb(*args, **kwargs))

    answer.__annotations__ = {**verb.__annotations__, "return": Json}
    return answer
