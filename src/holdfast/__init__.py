"""Verify, rehearse, launch, supervise, diagnose and recover LLM fine-tuning jobs.

>>> import holdfast
>>> holdfast.verify.__name__
'verify'
"""

from typing import TYPE_CHECKING, Any

from holdfast.app import VERBS, load_verb

if TYPE_CHECKING:
    from holdfast.app.asking import logs, runs, show, verify, watch
    from holdfast.app.checking import check
    from holdfast.app.diagnosing import diagnose
    from holdfast.app.explaining import explain
    from holdfast.app.inspecting import inspect
    from holdfast.app.rehearsing import rehearse
    from holdfast.app.rendering import render
    from holdfast.app.running import resume, run, stop

__all__ = [
    "check",
    "diagnose",
    "explain",
    "inspect",
    "logs",
    "rehearse",
    "render",
    "resume",
    "run",
    "runs",
    "show",
    "stop",
    "verify",
    "watch",
]


def __getattr__(name: str) -> Any:
    """Give a verb when it is first asked for."""
    if name in VERBS:
        return load_verb(name)
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
