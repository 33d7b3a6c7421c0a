"""The keys of a job file, or of a study file, in Markdown, made from its JSON Schema."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast.core.job_file.document_schema import parts_of
from holdfast.core.job_file.examples import BESIDE
from holdfast.core.text.inline_yaml import render_inline_yaml

Schema = Mapping[str, Any]
TYPES: Final[Mapping[str, str]] = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "mapping",
}
JOB_FILE: Final = "`--set KEY=VALUE` overrides a key."
STUDY_FILE: Final = "`holdfast study STUDY --dry-run` checks it. Keys of the job are dotted, as for `--set`."


def render_keys(schema: Schema, under: str = "", file: str = "job", about: str = JOB_FILE) -> str:
    """Return each key of a file with its type, its default, what it means, and an example.

    Args:
        schema: The JSON Schema.
        under: A key: only it and those under it are listed.
        file: Which file: `job` or `study`.
        about: What to know beside that.
    """
    head = f"# {f'`{under}` in a' if under else 'The'} {file} file"
    about = f"{about} `holdfast explain {file} --format json` gives the JSON Schema, for editors."
    return "\n\n".join([head, about, "\n".join(_keys(schema, under))]) + "\n"


def _keys(schema: Schema, under: str) -> Iterator[str]:
    for path, key, owner in _walk(schema, schema, ()):
        name = ".".join(path)
        if f"{name}.".startswith(f"{under}." if under else ""):
            about = ", ".join(part for part in (_type(schema, key), _default(key, path[-1], owner)) if part)
            meaning = " ".join(key.get("description", "").split())
            yield f"- `{name}` ({about}): {meaning}\n  - `{_example(schema, path)}`"


def _walk(schema: Schema, part: Schema, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema, Schema]]:
    """Yield each key's path, its schema, and that of the mapping in which it stands."""
    for name, key in part.get("properties", {}).items():
        yield (*above, name), key, part
        for inner in parts_of(schema, key):
            yield from _walk(schema, inner, (*above, name))


def _type(schema: Schema, key: Schema) -> str:
    kinds = [_kind(schema, each) for each in key.get("anyOf", (key,)) if each.get("type") != "null"]
    return " or ".join(kinds)


def _kind(schema: Schema, key: Schema) -> str:
    if "$ref" in key:
        return _kind(schema, schema["$defs"][key["$ref"].rpartition("/")[2]])
    if "enum" in key:
        *others, last = key["enum"]
        return f"{', '.join(others)} or {last}"
    if "const" in key:
        return str(key["const"])
    if "type" not in key:
        return "values"
    inner = key.get("items", key.get("additionalProperties"))
    of = f" of {_kind(schema, inner)}" if isinstance(inner, Mapping) else ""
    return TYPES[key["type"]] + of + _bounds(key)


def _bounds(key: Schema) -> str:
    """Return the bounds of a number, in words.

    >>> _bounds({"exclusiveMinimum": 0, "exclusiveMaximum": 1}), _bounds({"minimum": 0})
    (' above 0 and below 1', ' from 0')
    """
    words = {"exclusiveMinimum": "above", "minimum": "from", "exclusiveMaximum": "below"}
    bounds = [f"{word} {key[name]}" for name, word in words.items() if name in key]
    return f" {' and '.join(bounds)}" if bounds else ""


def _default(key: Schema, name: str, owner: Schema) -> str:
    if name in owner.get("required", ()):
        return "required"
    default = key.get("default")
    return f"default {render_inline_yaml(default)}" if default not in (None, [], {}) else ""


def _example(schema: Schema, path: tuple[str, ...]) -> str:
    """Return a line of YAML that gives a key, beside the keys that the mappings around it need."""
    return f"{path[0]}: {render_inline_yaml(_example_value(schema, schema, path, 1))}"


def _example_value(schema: Schema, part: Schema, path: tuple[str, ...], depth: int) -> Any:
    """Return the example of a key as it stands in the key that the first parts of its path name.

    Args:
        schema: The JSON Schema.
        part: The schema of the mapping that has the outer key.
        path: The path of the key.
        depth: How many parts of it name the outer key.
    """
    key = part["properties"][path[depth - 1]]
    if depth == len(path):
        return key["examples"][0]
    inner, name = next(parts_of(schema, key)), path[depth]
    beside = (*_needed_by(inner, name), *BESIDE.get(".".join(path[: depth + 1]), ()))
    values = {each: inner["properties"][each]["examples"][0] for each in beside if each != name}
    values[name] = _example_value(schema, inner, path, depth + 1)
    return [values] if TYPES["array"] in _type(schema, key) else values


def _needed_by(part: Schema, name: str) -> list[str]:
    """Return the keys that a mapping with a key needs: those that it always needs, that the key needs, and one of those of which it needs any."""
    needed = [*part.get("required", ()), *part.get("dependentRequired", {}).get(name, ())]
    alternatives: list[list[str]] = [each["required"] for each in part.get("anyOf", ())]
    if alternatives and not any({name, *needed}.issuperset(each) for each in alternatives):
        needed += alternatives[0]
    return needed
