"""The verbs, each wired to the real world; the only floor where doors get keys.

Each takes plain values and gives its answer as `contract.md` §2 spells it. The command line, and whatever faces
follow, are made from `VERBS`; a verb's module is imported when the verb is used, so that a quick one stays quick.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

VERBS: Mapping[str, str] = {
    "check": "holdfast.app.check.verb",
    "inspect": "holdfast.app.inspect.verb",
    "rehearse": "holdfast.app.rehearse.verb",
    "render": "holdfast.app.rendering",
    "explain": "holdfast.app.explaining",
    "run": "holdfast.app.run.verb",
    "resume": "holdfast.app.run.verb",
    "stop": "holdfast.app.run.verb",
    "runs": "holdfast.app.run.queries",
    "show": "holdfast.app.run.queries",
    "logs": "holdfast.app.run.queries",
    "watch": "holdfast.app.run.queries",
    "diagnose": "holdfast.app.diagnose.verb",
    "verify": "holdfast.app.run.queries",
    "catalog": "holdfast.app.cataloguing",
}


def load_verb(name: str) -> Callable[..., Any]:
    """Return the function of a verb.

    >>> load_verb("verify").__name__
    'verify'
    """
    verb: Callable[..., Any] = getattr(import_module(VERBS[name]), name)
    return verb
