"""References that stand for secrets in what is kept of a run: the value reaches the training process as an environment variable alone.

`payload/runtime.py` puts the values back, in the training process.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.core.job_file.job import Job
from holdfast.core.run.plan import Plan, RunRequest
from holdfast.core.text.redact import is_random, is_secret, redact, redact_parts

REFERENCE: Final = re.compile(r"<holdfast-secret:(\w+)>")
UNNEEDED: Final = "[redacted]"
UNNAMED: Final = "HOLDFAST_SECRET_"
"""Variable of a secret that has no name of its own, with its number in the order in which they stand."""


def separate_secrets(job: Job) -> tuple[Job, Mapping[str, str]]:
    """Return a job that names its secret variables instead of giving them, and their values."""
    variables = job.environment.variables
    values = {name: value for name, value in variables.items() if is_secret(name, value) or redact(value) != value}
    if not values:
        return job, {}
    environment = job.environment.model_copy(
        update={
            "variables": {name: value for name, value in variables.items() if name not in values},
            "secrets": [*dict.fromkeys([*job.environment.secrets, *values])],
        }
    )
    return job.model_copy(update={"environment": environment}), values


class SecretReferences:
    """References for the secrets of one run.

    Args:
        values: Secrets of the job, by the variables that they are given in.
        settings: Other secrets of the job.
        environment: Variables of this process; a random value of theirs is known by its name.

    Attributes:
        values: The secrets that were given in the job, or replaced by a reference, by their variables.
    """

    def __init__(self, values: Mapping[str, str], settings: Iterable[str], environment: Mapping[str, str]) -> None:
        self.values = dict(values)
        own = {value: name for name, value in environment.items() if is_secret(name, value) and is_random(value)}
        self._names = own | {value: name for name, value in values.items()}
        self._known = (*self._names, *settings)

    def refer_plan(self, plan: Plan) -> Plan:
        """Return a plan that holds no secret, and names all whose values it needs."""
        script, arguments, variables = self._referred([plan.script, plan.arguments, plan.variables])
        needed = dict.fromkeys([*plan.secrets, *self.values])
        job, sources = redact_parts([plan.job, plan.sources], self._known, self._reference_if_needed)
        plan = replace(plan, job=job, sources=sources)
        return replace(plan, script=script, arguments=tuple(arguments), variables=variables, secrets=tuple(needed))

    def refer_request(self, request: RunRequest) -> RunRequest:
        """Return a request that holds no secret."""
        sets, arguments = self._referred([request.sets, request.arguments])
        return replace(request, sets=tuple(sets), arguments=tuple(arguments))

    def _referred(self, parts: list[Any]) -> Any:
        return redact_parts(parts, self._known, self._reference)

    def _reference_if_needed(self, secret: str, kind: str) -> str:
        """Return the reference of a secret that an attempt needs; of any other, nothing that it could be known by."""
        name = self._names.get(secret)
        return self._reference(secret, kind) if name in self.values else UNNEEDED

    def _reference(self, secret: str, _kind: str) -> str:
        name = self._names.get(secret) or f"{UNNAMED}{1 + sum(each.startswith(UNNAMED) for each in self.values)}"
        self._names[secret], self.values[name] = name, secret
        return f"<holdfast-secret:{name}>"


def resolve_references(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the values that its references stand for; one whose value is not known stays.

    >>> resolve_references("--key=<holdfast-secret:KEY> <holdfast-secret:B>", {"KEY": "x"})
    '--key=x <holdfast-secret:B>'
    """
    return REFERENCE.sub(lambda found: values.get(found[1], found[0]), text)


def unresolved(texts: Iterable[str]) -> list[str]:
    """Return the names of the references in some texts."""
    return [name for text in texts for name in REFERENCE.findall(text)]
