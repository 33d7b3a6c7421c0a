"""The backends that this version can run attempts on. A new one is a class in `BACKENDS`."""

import os
from collections.abc import Mapping
from typing import Final

from holdfast.adapters.backends.fake import FakeBackend
from holdfast.adapters.backends.hf_jobs import HfJobsBackend
from holdfast.adapters.backends.local import LocalBackend
from holdfast.core.errors import UsageError
from holdfast.core.run.backends import BACKEND_KEY, capabilities_of, offered
from holdfast.core.run.plan import Plan
from holdfast.core.text.nearest import suggest_one
from holdfast.ports import Backend, NamedBackend

BACKENDS: Final[Mapping[str, type[NamedBackend]]] = {
    each.capabilities.name: each for each in (LocalBackend, FakeBackend, HfJobsBackend)
}


def require_backend(name: str) -> type[NamedBackend]:
    """The backend of a name.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in BACKENDS:
        fix = suggest_one(name, list(offered(BACKENDS)))
        raise UsageError(f"no backend is called {name!r}", where=BACKEND_KEY, fix=fix)
    return BACKENDS[name]


def open_backend(plan: Plan, environment: Mapping[str, str]) -> Backend:
    """Return the backend that a plan runs on, with the environment that its attempts inherit.

    Raises:
        UsageError: There is no such backend, it lacks an option of the plan, a secret is not set, or nothing here can
            run the script.
    """
    backend = require_backend(plan.backend)
    if missing := [name for name in plan.secrets if not environment.get(name)]:
        fix = f"export {missing[0]}=…; a run keeps the names of its secrets, not their values"
        raise UsageError(f"secrets are not set: {', '.join(missing)}", where="the environment", fix=fix)
    options = capabilities_of(plan.backend).options
    if unknown := sorted(plan.options.keys() - options):
        what = f"the {plan.backend} backend has no option {unknown[0]!r}"
        raise UsageError(what, where="where.options", fix=f"it has {', '.join(sorted(options)) or 'none'}")
    return backend.open(plan, environment)


def attach_backend(name: str) -> Backend:
    """Return a backend that follows and stops attempts which were already started.

    Raises:
        UsageError: There is none of that name.
    """
    return require_backend(name).open(None, os.environ)
