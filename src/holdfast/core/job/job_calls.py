"""The calls that a job file stands for: of its method's config class, and of the classes that go with it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from holdfast.core.job.calls import Call
from holdfast.core.job.methods import Method
from holdfast.core.text.places import Place

CLASSES: Final = {"peft": "peft.LoraConfig", "quantization": "transformers.BitsAndBytesConfig"}
"""The classes whose arguments stand under two keys."""


def job_calls(
    values: Mapping[str, Any], entry_of: Callable[[str], Place | None], place_of: Callable[[str], Place]
) -> Iterator[Call]:
    """Yield the calls of a job's values.

    Args:
        values: What the job file and its overrides say.
        entry_of: Gives the place of all that stands under a key, or None if the file does not have it.
        place_of: Gives the place of a key.
    """
    method = values.get("method")
    config = {"train": Method(method).config} if method in list(Method) else {}
    for key, path in {**config, **CLASSES}.items():
        arguments = values.get(key)
        if isinstance(arguments, Mapping):
            yield Call(
                path=path,
                label=key,
                key=key,
                arguments={str(name): value for name, value in arguments.items()},
                place=entry_of(key) or place_of(key),
                name_place=place_of(key),
                via="file",
            )
