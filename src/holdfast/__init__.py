"""Check, rehearse, run, supervise and diagnose LLM fine-tuning jobs.

Each command of the command line is a function, with its options as arguments. It returns the object that the command
prints with `--format json` (`runs` and `explain` return one object, of which the command prints parts). Where the command
prints an error, it raises HoldfastError, with `what`, `where` and `fix`.

>>> import holdfast
>>> holdfast.check("examples/quickstart.yaml", offline=True)["verdict"]
'pass'
>>> try:
...     holdfast.check("none.yaml")
... except holdfast.HoldfastError as error:
...     error.what
'no such file: none.yaml'
"""

from typing import TYPE_CHECKING, Any

from holdfast.app import in_json, load_api
from holdfast.core.errors import HoldfastError, UsageError

if TYPE_CHECKING:
    from holdfast.app import doctoring as _doctoring
    from holdfast.app.check import verb as _check
    from holdfast.app.diagnose import verb as _diagnose
    from holdfast.app.evaluate import verb as _evaluate
    from holdfast.app.explain import verb as _explain
    from holdfast.app.export import verb as _export
    from holdfast.app.inspect import verb as _inspect
    from holdfast.app.plan import verb as _plan
    from holdfast.app.rehearse import verb as _rehearse
    from holdfast.app.render.verb import render
    from holdfast.app.run import queries as _queries
    from holdfast.app.run import stopping as _stopping
    from holdfast.app.run import verb as _run
    from holdfast.app.study import verb as _study

    check = in_json(_check.check)
    doctor = in_json(_doctoring.doctor)
    explain = in_json(_explain.explain)
    rehearse = in_json(_rehearse.rehearse)
    inspect = in_json(_inspect.inspect)
    plan = in_json(_plan.plan)
    diagnose = in_json(_diagnose.diagnose)
    evaluate = in_json(_evaluate.evaluate)
    export = in_json(_export.export)
    run, resume, stop = in_json(_run.run), in_json(_run.resume), in_json(_stopping.stop)
    runs, show, logs = in_json(_queries.runs), in_json(_queries.show), in_json(_queries.logs)
    study = in_json(_study.study)
    watch, verify = in_json(_queries.watch), in_json(_queries.verify)
    __version__: str

__all__ = [
    "HoldfastError",
    "UsageError",
    "check",
    "diagnose",
    "doctor",
    "evaluate",
    "explain",
    "export",
    "inspect",
    "logs",
    "plan",
    "rehearse",
    "render",
    "resume",
    "run",
    "runs",
    "show",
    "stop",
    "study",
    "verify",
    "watch",
]


def __getattr__(name: str) -> Any:
    """Return a verb, imported when it is first used, or the release."""
    if name in __all__:
        return load_api(name)
    if name == "__version__":
        from importlib.metadata import version  # slow to import, and few ask

        return version("holdfast")
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names; a verb is not an attribute before it is used."""
    return [*__all__, "__version__"]
