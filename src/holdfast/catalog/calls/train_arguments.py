"""What the config class of a job's method takes.

For job files at the versions that holdfast installs for them, for programs at those at hand.

Source: the history of releases in `catalog.api`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from holdfast.catalog.api import Api, made
from holdfast.catalog.environment.stack import load_stack
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.api import REQUIRED, Parameter
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.job.methods import ONLINE, Method

CLASSES = {method.value: method.config for method in Method} | {
    "peft": "peft.LoraConfig",
    "quantization": "transformers.BitsAndBytesConfig",
}
"""The class behind a method's settings, and behind two keys of a job file."""


def arguments(part: str, api: Api | None = None) -> Mapping[str, Parameter]:
    """Return the parameters of a method's config class, or of the class behind the job key `peft` or `quantization`.

    Nothing for a part nobody knows.

    Args:
        part: The method, or the job key.
        api: The versions at hand; those that job files get where none are given.

    >>> arguments("grpo")["num_generations"].default
    8
    """
    signature = (api or stack_api()).signature(CLASSES[part]) if part in CLASSES else None
    return signature.parameters if signature else {}


def arguments_of(job: Document, api: Api | None) -> Mapping[str, Parameter]:
    """Return the parameters of the config class whose settings are under `train`."""
    made_by = next((call.path for call in job.calls if call.key == "train" and call.via != "file"), None)
    signature = api.signature(made_by) if api and made_by else None
    return signature.parameters if signature else arguments(str(job.get("method")), api)


def setting(job: Document, name: str, api: Api | None = None) -> Any:
    """Return the setting that the trainer gets: the job's value, else the default of its config class.

    Raises:
        MissingFactError: The default is no plain value.

    >>> setting(Document(path="j", kind="job", values={"method": "sft", "train": {}}), "save_steps")
    500
    """
    value = job.get(f"train.{name}")
    if value is not ABSENT:
        return value
    argument = arguments_of(job, api).get(name)
    if argument is None or argument.default is REQUIRED:
        return ABSENT
    if isinstance(argument.default, Unknown):
        raise MissingFactError(f"train.{name}", argument.default.because)
    return argument.default


def makes_groups(job: Document, api: Api) -> bool:
    """True if a job trains on groups of completions and its config is seen whole.

    What it does not give has the class's own default then, in a release that checks as those from 0.18 on do.
    """
    call = job.call("train")
    seen = call is None or not (call.open or call.own or call.via == "partial" or call.guard.because)
    return job.get("method") in ONLINE and seen and "steps_per_generation" in arguments_of(job, api)


def versions() -> Mapping[str, str]:
    """Return the versions that job files get, and the date of what is known of them."""
    return {**stack_api().versions, "date": made()}


@cache
def stack_api() -> Api:
    """Return the libraries' API at the versions that holdfast installs for a job file."""
    return Api({name: package.version for name, package in load_stack().items()})
