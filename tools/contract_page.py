"""Write into docs/contract.md which commands there are, and the fields of their results, from the types alone."""

import json
import re
from collections import abc
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import click
from msgspec import Struct, UnsetType, structs

from holdfast.cli.main import cli
from holdfast.results import Result
from holdfast.results.catalog import CatalogResult
from holdfast.results.check import CheckResult
from holdfast.results.diagnose import DiagnoseResult
from holdfast.results.doctor import DoctorResult
from holdfast.results.evaluate import EvaluateResult
from holdfast.results.explain import ExplainResult
from holdfast.results.export import ExportResult
from holdfast.results.inspect import InspectResult
from holdfast.results.plan import PlanResult
from holdfast.results.rehearse import RehearseResult
from holdfast.results.run import LogsResult, RemoteRunsResult, RunResult, RunsResult, VerifyResult
from holdfast.results.study import StudyResult

PAGE: Final = Path(__file__).parent.parent / "docs" / "contract.md"
BLOCK: Final = r"(<!-- made by tools/contract_page.py: {} -->\n).*?(<!-- end -->)"
RESULTS: Final[Mapping[str, type[Result]]] = {
    "check": CheckResult,
    "inspect": InspectResult,
    "plan": PlanResult,
    "rehearse": RehearseResult,
    "run, resume, stop, show, watch": RunResult,
    "runs": RunsResult,
    "runs --on": RemoteRunsResult,
    "logs": LogsResult,
    "study": StudyResult,
    "evaluate": EvaluateResult,
    "export": ExportResult,
    "diagnose": DiagnoseResult,
    "verify": VerifyResult,
    "explain": ExplainResult,
    "doctor": DoctorResult,
    "catalog update": CatalogResult,
}
PLAIN: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any"}
ATTRIBUTE: Final = re.compile(r"^ {4}(?: {4})?(\w+): (.*(?:\n {8}(?: {4})?\s+.*)*)", re.MULTILINE)


def render_page(text: str) -> str:
    """Return the page with its blocks as they are now."""
    for name, lines in (("commands", render_commands()), ("results", render_results())):
        block = "\n".join(lines)
        text = re.sub(BLOCK.format(name), partial(_filled, block), text, flags=re.DOTALL)
    return text


def _filled(block: str, marks: re.Match[str]) -> str:
    return f"{marks[1]}{block}\n{marks[2]}"


def render_commands() -> Iterator[str]:
    """Yield a table of the commands."""
    yield "| command | what it does |"
    yield "|---|---|"
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None:
            yield f"| `holdfast {name}` | {command.get_short_help_str(200)} |"


def render_results() -> Iterator[str]:
    """Yield a section for each result, with the types that it is made of."""
    shown: set[type] = set()
    for verbs, result in RESULTS.items():
        yield f"### {', '.join(f'`{verb}`' for verb in verbs.split(', '))}"
        for each in (result, *_parts(result)):
            if each not in shown:
                shown.add(each)
                yield from _table(each)
        yield ""


def _parts(kind: type) -> list[type]:
    """Return the types that a type's fields are made of, in the order in which they come up."""
    found = [part for hint in get_type_hints(kind).values() for part in _objects(hint)]
    return list(dict.fromkeys(each for part in found for each in (part, *_parts(part))))


def _objects(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and (issubclass(hint, Struct) or is_dataclass(hint)):
        yield hint
    for argument in get_args(hint):
        yield from _objects(argument)


def _table(kind: type) -> Iterator[str]:
    summary, said = _described(kind)
    yield ""
    yield f"**{kind.__name__}**: {summary[0].lower()}{summary[1:]}"
    yield ""
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    hints = get_type_hints(kind)
    if issubclass(kind, Result):
        yield "| `schema` | `1` | The version of the object |"
    for name, key, optional in _fields(kind):
        meaning = said.get(name, "The command" if name == "verb" else "")
        mark = " *(optional)*" if optional else ""
        yield f"| `{key}`{mark} | {_spelled(hints[name], optional=optional)} | {meaning} |"


def _fields(kind: type) -> Iterator[tuple[str, str, bool]]:
    """Yield each field: its name, its key in JSON, and whether it may be absent."""
    if issubclass(kind, Struct):
        for each in structs.fields(kind):
            yield each.name, each.encode_name, not each.required
    elif is_dataclass(kind):
        yield from ((each.name, each.name, False) for each in fields(kind))


def _described(kind: type) -> tuple[str, dict[str, str]]:
    """Return a type's summary, and what its docstring says of each field."""
    summary, _, rest = (kind.__doc__ or "").partition("\n")
    _, _, attributes = rest.partition("Attributes:\n")
    inherited = _described(kind.__base__)[1] if kind.__base__ and issubclass(kind.__base__, Struct) else {}
    own = {name: " ".join(text.split()).rstrip(".") for name, text in ATTRIBUTE.findall(attributes)}
    return summary.rstrip("."), {
        **inherited,
        **{name: re.sub(r" In JSON: `\w+`", "", text).rstrip(".") for name, text in own.items()},
    }


def _spelled(hint: Any, *, optional: bool = False) -> str:
    """Return a type in the words of JSON."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [each for each in arguments if each is not UnsetType and not (optional and each is NoneType)]
        return " or ".join(map(_spelled, kinds))
    if origin is Literal or (isinstance(hint, type) and issubclass(hint, Enum)):
        values = arguments or tuple(each.value for each in hint)
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if origin is tuple and Ellipsis not in arguments:
        return f"[{', '.join(map(_spelled, arguments))}]"
    if origin is abc.Mapping:
        return "object" if arguments[1] is Any else f"object of {_spelled(arguments[1])} by name"
    return f"list of {_spelled(arguments[0])}" if origin else PLAIN.get(hint) or hint.__name__


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
