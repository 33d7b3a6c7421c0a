"""The secrets of a run. Their values are not stored, so each process that starts an attempt has to find them again."""

import os
from contextlib import chdir, suppress
from dataclasses import replace

from holdfast.adapters.storage.run_folder import load_plan, load_request
from holdfast.adapters.targets import read_target
from holdfast.app.run.backends import open_backend
from holdfast.app.run.planning import secret_references
from holdfast.app.run.runs import Run
from holdfast.app.targets.rendering import script_of
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.job_file.secret_references import resolve_references, unresolved
from holdfast.core.run.plan import Plan, RunRequest


def resolve_request(request: RunRequest) -> RunRequest:
    """Return a request as the user typed it, with the values of its secrets.

    Raises:
        UsageError: One of its secrets is not set in this environment.
    """
    values = os.environ
    sets, arguments = (
        [resolve_references(each, values) for each in texts] for texts in (request.sets, request.arguments)
    )
    if missing := unresolved([*sets, *arguments]):
        what = f"secrets are not set: {', '.join(missing)}"
        raise UsageError(what, where="the environment", fix=f"export {missing[0]}=…, or start a new run")
    return replace(request, sets=tuple(sets), arguments=tuple(arguments))


def with_secrets(run: Run) -> Run:
    """Return a run with the secrets that its job's own file gives: its plan may need them, and this environment may lack them.

    Raises:
        UsageError: One is nowhere to be found.
    """
    plan = load_plan(run.folder)
    if not plan.secrets:
        return run
    found = replace(run, secrets=_read_again(load_request(run.folder)))
    open_backend(plan, {**os.environ, **found.secrets})  # only to find out now whether a secret is missing
    return found


def _read_again(request: RunRequest | None) -> dict[str, str]:
    """Return the secrets that a job's file gives now; none if the file is gone or is not a job any more."""
    if request is None:
        return {}
    sets = [each for each in (resolve_references(one, os.environ) for one in request.sets) if not unresolved([each])]
    with suppress(HoldfastError, ExceptionGroup, OSError), chdir(request.cwd):
        target = read_target(request.target, sets)
        references = secret_references(target, request.arguments)
        references.refer_plan(
            Plan(name="", script=script_of(target), script_name="", cwd="")
        )  # collects the script's own
        return references.values
    return {}
