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

TYPE_CHECKING = False
"""As `typing.TYPE_CHECKING`, without the import: the command line begins with this module."""

if TYPE_CHECKING:
    from typing import Any

    from holdfast.app import in_json
    from holdfast.app.check import verb as _check
    from holdfast.app.diagnose import verb as _diagnose
    from holdfast.app.doctor import verb as _doctor
    from holdfast.app.evaluate import verb as _evaluate
    from holdfast.app.explain import verb as _explain
    from holdfast.app.export import verb as _export
    from holdfast.app.inspect import verb as _inspect
    from holdfast.app.logs import verb as _logs
    from holdfast.app.plan import verb as _plan
    from holdfast.app.rehearse import verb as _rehearse
    from holdfast.app.render import verb as _render
    from holdfast.app.resume import verb as _resume
    from holdfast.app.run import verb as _run
    from holdfast.app.runs import verb as _runs
    from holdfast.app.show import verb as _show
    from holdfast.app.stop import verb as _stop
    from holdfast.app.study import verb as _study
    from holdfast.app.verify import verb as _verify
    from holdfast.app.watch import verb as _watch
    from holdfast.core.errors import HoldfastError as HoldfastError
    from holdfast.core.errors import UsageError as UsageError

    check = in_json(_check.check)
    inspect = in_json(_inspect.inspect)
    plan = in_json(_plan.plan)
    rehearse = in_json(_rehearse.rehearse)
    render = _render.render
    explain = in_json(_explain.explain)
    run = in_json(_run.run)
    resume = in_json(_resume.resume)
    stop = in_json(_stop.stop)
    runs = in_json(_runs.runs)
    show = in_json(_show.show)
    logs = in_json(_logs.logs)
    watch = in_json(_watch.watch)
    study = in_json(_study.study)
    evaluate = in_json(_evaluate.evaluate)
    export = in_json(_export.export)
    diagnose = in_json(_diagnose.diagnose)
    verify = in_json(_verify.verify)
    doctor = in_json(_doctor.doctor)
    __all__: list[str]
    __version__: str


def __getattr__(name: str) -> "Any":
    """Return a verb or a class of errors, imported when it is first used, the public names, or the release."""
    from holdfast.app import VERBS, load_api

    names = ["HoldfastError", "UsageError", *(verb for verb in VERBS if verb != "catalog")]  # that package is here too
    if name == "__all__":
        return names
    if name == "__version__":
        from importlib.metadata import version  # slow to import, and few ask

        return version("holdfast")
    if name not in names:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    if name in VERBS:
        return load_api(name)
    from holdfast.core import errors

    return getattr(errors, name)


def __dir__() -> list[str]:
    """The public names; a verb is not an attribute before it is used."""
    return [*__getattr__("__all__"), "__version__"]
