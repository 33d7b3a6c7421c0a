"""Types of columns, from what libraries call them: polars' dtypes, the features of `datasets`, Parquet's schemas.

Nothing is imported for it, so that a check may ask.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from holdfast.core.rows.columns import STRING, ListOf, Scalar, ScalarName, Struct, Type
from holdfast.core.text.json_text import DEEPEST, parse_json

# Source: `datasets.features.features`, 5.2: what a `Value` may hold, and pyarrow's names of it. Beginnings of the names.
DTYPES: Final[Mapping[str, ScalarName]] = {
    "string": "string",
    "large_string": "string",
    "int": "integer",
    "uint": "integer",
    "float": "float",
    "double": "float",
    "decimal": "float",
    "bool": "boolean",
    "null": "null",
    "binary": "binary",
    "large_binary": "binary",
    "timestamp": "time",
    "date": "time",
    "time": "time",
    "duration": "time",
    "image": "image",
    "audio": "audio",
    "video": "video",
    "json": "json",
}
# Features with a word of their own. Those of molecules, meshes and papers are "other".
DECODED: Final[Mapping[str, ScalarName]] = {"Image": "image", "Audio": "audio", "Video": "video", "Json": "json"}
# polars' names of dtypes that do not begin as pyarrow's do.
POLARS: Final[Mapping[str, ScalarName]] = {
    "str": "string",
    "categorical": "string",
    "enum": "string",
    "enumtype": "string",
    "u": "integer",
}
LISTS: Final = ("List", "LargeList", "Sequence")
YAML_LISTS: Final = ("list", "large_list", "sequence")
JSON: Final = Scalar("json")
OTHER: Final = Scalar("other")


def type_of_name(name: str) -> Type:
    """Return the type that a dtype's name speaks of, in the spelling of datasets, pyarrow or polars.

    >>> [str(type_of_name(name)) for name in ("int64", "timestamp[s]", "large_string", "UInt8", "decimal128(10, 2)")]
    ['integer', 'time', 'string', 'integer', 'float']
    """
    lowered = name.lower()
    for beginning in sorted((*DTYPES, *POLARS), key=len, reverse=True):
        if lowered.startswith(beginning):
            return Scalar(DTYPES.get(beginning) or POLARS[beginning])
    return OTHER


def type_of_dtype(dtype: Any) -> Type:
    """Return the type of a polars dtype, which need not be loaded for it."""
    if (inner := getattr(dtype, "inner", None)) is not None:  # List and Array
        return ListOf(type_of_dtype(inner))
    if (fields := getattr(dtype, "fields", None)) is not None:
        return Struct({part.name: type_of_dtype(part.dtype) for part in fields})
    return type_of_name(str(dtype))


def types_of_features(features: Mapping[str, Any]) -> dict[str, Type]:
    """Return the types of columns of `Features.to_dict()`, as Parquet files and the dataset viewer hold it."""
    return {name: type_of_feature(feature) for name, feature in features.items()}


def type_of_feature(feature: Any) -> Type:
    """Return the type of one feature of `datasets`, in JSON.

    >>> print(type_of_feature({"feature": {"role": {"dtype": "string", "_type": "Value"}}, "_type": "List"}))
    list<struct<role: string>>
    >>> print(type_of_feature([{"dtype": "int64", "_type": "Value"}]))
    list<integer>
    """
    match feature:
        case [inner]:
            return ListOf(type_of_feature(inner))
        case {"_type": "Sequence", "feature": dict(inner)} if "_type" not in inner:
            # datasets before 4 made a mapping of lists of it, and its files say so still.
            return Struct({name: ListOf(type_of_feature(part)) for name, part in inner.items()})
        case {"_type": str(kind)}:
            return _of_kind(kind, feature)
        case Mapping():
            return Struct({str(name): type_of_feature(part) for name, part in feature.items()})
        case _:
            return OTHER


def _of_kind(kind: str, feature: Mapping[str, Any]) -> Type:
    if kind in LISTS:
        return ListOf(type_of_feature(feature.get("feature")))
    if kind in _NAMED:
        return _NAMED[kind](feature)
    if kind.startswith("Array") and kind.endswith("D"):
        return _array(kind.removeprefix("Array").removesuffix("D"), feature)
    return Scalar(DECODED.get(kind, "other"))


def _array(dimensions: str, feature: Mapping[str, Any]) -> Type:
    """Return the type of an `Array2D` and the like: lists in lists."""
    kind: Type = type_of_name(str(feature.get("dtype")))
    for _ in range(min(int(dimensions), DEEPEST) if dimensions.isdecimal() else 1):
        kind = ListOf(kind)
    return kind


_NAMED: Final[Mapping[str, Callable[[Mapping[str, Any]], Type]]] = {
    "ClassLabel": lambda feature: Scalar("integer", tuple(map(str, feature.get("names") or ()))),
    "Translation": lambda feature: Struct(dict.fromkeys(map(str, feature.get("languages") or ()), STRING)),
    "Value": lambda feature: type_of_name(str(feature.get("dtype"))),
}


def types_of_card(features: Any) -> dict[str, Type]:
    """Return the types of columns of `dataset_info.features` in the head of a dataset's README; none if it is malformed.

    >>> {name: str(kind) for name, kind in types_of_card([{"name": "a", "list": "string"}]).items()}
    {'a': 'list<string>'}
    """
    if not isinstance(features, Sequence) or isinstance(features, str):
        return {}
    return {str(part["name"]): _of_card(part) for part in features if isinstance(part, Mapping) and "name" in part}


def _of_card(part: Any) -> Type:
    """Return the type of a feature as READMEs spell it: a name, a list of named parts, or a mapping with one of both."""
    if isinstance(part, str):
        return type_of_name(part)
    if not isinstance(part, Mapping):
        return Struct(types_of_card(part))
    if isinstance(part.get("sequence"), list):  # what was a sequence of mappings is read as a mapping of lists
        return Struct({name: ListOf(kind) for name, kind in types_of_card(part["sequence"]).items()})
    for key in YAML_LISTS:
        if key in part:
            return ListOf(_of_card(part[key]))
    if "struct" in part:
        return Struct(types_of_card(part["struct"]))
    return _of_card_dtype(part.get("dtype"))


def _of_card_dtype(dtype: Any) -> Type:
    match dtype:
        case str():
            return type_of_name(dtype)
        case {"class_label": {"names": names}}:
            return Scalar("integer", tuple(map(str, names.values() if isinstance(names, Mapping) else names)))
        case {"struct": parts} | {"list": parts} if isinstance(parts, Sequence):
            inner = Struct(types_of_card(parts))
            return inner if "struct" in dtype else ListOf(inner)
        case _:
            return OTHER


def types_in_metadata(text: str | bytes | None) -> dict[str, Type]:
    """Return the types that the `huggingface` entry of a schema's metadata tells; none if it tells none."""
    try:
        features = parse_json(text or "{}")["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    return types_of_features(features) if isinstance(features, Mapping) else {}


def with_declared(found: Mapping[str, Type], declared: Mapping[str, Type]) -> dict[str, Type]:
    """Return the columns that were found, each with the type that the file tells of it, if it tells one."""
    return {name: declared.get(name, kind) for name, kind in found.items()}
