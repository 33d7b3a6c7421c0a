"""The backends that this version can run attempts on. A new one is a line in `OPENERS`."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from holdfast.adapters.backends.fake import FakeBackend
from holdfast.adapters.backends.hf_jobs import HfJobsBackend, HfJobsSchedules, mount_paths
from holdfast.adapters.backends.local import LocalBackend
from holdfast.core.backends import BACKEND_KEY, FAKE, HF_JOBS, LOCAL, capabilities_of, offered
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.nearest import suggest_one
from holdfast.core.plan import Plan
from holdfast.ports import Backend, Schedules

OPENERS: Final[Mapping[str, Callable[[Plan | None, Mapping[str, str]], Backend]]] = {
    LOCAL.name: LocalBackend.open,
    FAKE.name: FakeBackend.open,
    HF_JOBS.name: HfJobsBackend.open,
}
"""Each opens its backend for a plan; without a plan, it can only follow and stop attempts that were already started."""


PREFLIGHTS: Final[Mapping[str, Callable[[Plan, Mapping[str, str]], None]]] = {
    HF_JOBS.name: HfJobsBackend.require_ready,
}
"""Each asks a service, before anything is sent, whether it would take a plan."""


MISSING: Final[Mapping[str, Callable[[Mapping[str, str]], Iterator[HoldfastError]]]] = {
    HF_JOBS.name: HfJobsBackend.missing,
}
"""Each yields what keeps a service from running any job."""


MOUNTED: Final[Mapping[str, Callable[[Mapping[str, object]], tuple[str, ...]]]] = {HF_JOBS.name: mount_paths}
"""Each returns the folders that a job has by the options of its backend."""


SCHEDULES: Final[Mapping[str, Callable[[Mapping[str, str]], Schedules]]] = {HF_JOBS.name: HfJobsSchedules}
"""Each has the schedules of a backend, as the token of an environment sees them."""


def open_schedules(backend: str, environment: Mapping[str, str]) -> Schedules:
    """Return the schedules of a backend whose capabilities have them."""
    return SCHEDULES[backend](environment)


def require_ready(plan: Plan, environment: Mapping[str, str]) -> None:
    """Refuse a plan that its backend would refuse, as far as that can be known.

    Raises:
        UsageError: It would.
    """
    if plan.backend in PREFLIGHTS:
        PREFLIGHTS[plan.backend](plan, environment)


def require_backend(name: str) -> None:
    """Refuse the name of a backend that does not exist.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in OPENERS:
        fix = suggest_one(name, list(offered(OPENERS)))
        raise UsageError(f"no backend is called {name!r}", where=BACKEND_KEY, fix=fix)


def open_backend(plan: Plan, environment: Mapping[str, str]) -> Backend:
    """Return the backend that a plan runs on, with the environment that its attempts inherit.

    Raises:
        UsageError: There is no such backend, it lacks an option of the plan, a secret is not set, or nothing here can
            run the script.
    """
    require_backend(plan.backend)
    if missing := [name for name in plan.secrets if not environment.get(name)]:
        fix = f"export {missing[0]}=…; a run keeps the names of its secrets, not their values"
        raise UsageError(f"secrets are not set: {', '.join(missing)}", where="the environment", fix=fix)
    options = capabilities_of(plan.backend).options
    if unknown := sorted(plan.options.keys() - options):
        what = f"the {plan.backend} backend has no option {unknown[0]!r}"
        raise UsageError(what, where="where.options", fix=f"it has {', '.join(sorted(options)) or 'none'}")
    return OPENERS[plan.backend](plan, environment)


def attach_backend(name: str) -> Backend:
    """Return a backend that follows and stops attempts which were already started.

    Raises:
        UsageError: There is none of that name.
    """
    require_backend(name)
    return OPENERS[name](None, os.environ)
