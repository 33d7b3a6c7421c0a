"""Parts of the files that users write for holdfast: no unknown key, no guessed type. And which keys such a part has."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo


class StrictPart(BaseModel):
    """A mapping in such a file. A key with nothing after it is as good as none."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        defer_build=True,  # half of the import, and some commands read no job
    )

    @model_validator(mode="before")
    @classmethod
    def _without_empty_keys(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        names = fields_of(cls)
        return {name: value for name, value in values.items() if value is not None or name not in names}


def fields_of(part: type[BaseModel] | None) -> dict[str, FieldInfo]:
    """Return a part's fields as the file spells them."""
    return {field.alias or name: field for name, field in part.model_fields.items()} if part else {}


def parts_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the parts that may stand where a type is expected, as items of a list too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Union, UnionType, Annotated, list):
        for argument in get_args(annotation):
            yield from parts_in(argument)


def names_under(root: type[BaseModel], key: tuple[str | int, ...]) -> tuple[str, ...]:
    """Return the names that may stand under a key path of a file, or none if any may.

    Args:
        root: The part that the whole file is.
        key: The path; positions in lists do not count.
    """
    part: type[BaseModel] | None = root
    values: Any = None
    for name in (name for name in key if isinstance(name, str)):
        if values is not None:  # a mapping of the user's own names: each has the same part
            part, values = next(parts_in(values), None), None
            continue
        field = fields_of(part).get(name)
        values = _values_of(field.annotation) if field else None
        part = next(parts_in(field.annotation), None) if field else None
    return tuple(fields_of(part))


def _values_of(annotation: Any) -> Any:
    """Return the type of a mapping's values; None if the type is not a mapping of parts."""
    if get_origin(annotation) in (dict, Mapping):
        _, values = get_args(annotation)
        return values if next(parts_in(values), None) else None
    return None
