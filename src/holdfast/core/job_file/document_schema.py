"""The JSON Schema of a file that users write, for editors and for `holdfast explain`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel


def document_schema(root: type[BaseModel], title: str, examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a file.

    Args:
        root: The part that the whole file is.
        title: Its title.
        examples: An example for each key, by its dotted name.
    """
    schema = root.model_json_schema(by_alias=True)
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title")
        required = part.get("required", ())
        for name, key_part in part.get("properties", {}).items():
            part["properties"][name] = _key_schema(key_part, may_be_empty=name not in required)
    for key, example in examples.items():
        _schema_of_key(schema, key.split("."))["examples"] = [example]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def _schema_of_key(schema: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a key, wherever in the file's schema its part stands."""
    *above, name = path
    part = schema
    for each in above:
        part = next(parts_of(schema, part["properties"][each]))
    found: dict[str, Any] = part["properties"][name]
    return found


def parts_of(schema: Mapping[str, Any], key: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas of the mappings that may stand under a key, as its items too."""
    for one in (key, *key.get("anyOf", ())):
        if "$ref" in one and "properties" in (part := schema["$defs"][one["$ref"].rpartition("/")[2]]):
            yield part
        if "items" in one:
            yield from parts_of(schema, one["items"])


def _key_schema(schema: dict[str, Any], *, may_be_empty: bool) -> dict[str, Any]:
    """Return a key's schema without pydantic's title, and with null where the key may be left empty."""
    kinds = schema.pop("anyOf", None)
    about = {name: schema.pop(name) for name in ("description", "default") if name in schema}
    schema.pop("title", None)
    kinds = kinds or [schema]
    empty = [{"type": "null"}] if may_be_empty and {"type": "null"} not in kinds else []
    return ({"anyOf": [*kinds, *empty]} if kinds[1:] or empty else schema) | about
