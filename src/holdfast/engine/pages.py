"""A rule's page, made from the rule alone."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from textwrap import fill, shorten
from typing import Any, Final

from holdfast.core.document import Kind
from holdfast.core.finding import Case, Rule
from holdfast.core.mention import Seen

LANGUAGES: Mapping[Kind, str] = {"job": "yaml", "script": "python", "command": "sh"}
PLURAL: Mapping[Kind, str] = {"job": "job files", "script": "scripts", "command": "command lines", "data": "datasets"}
NEEDS = {"api": "the libraries' versions", "resolution": "the requirements"}
WIDTH: Final = 110  # characters of a line below an example
LONGEST: Final = 80  # of a text among the facts: nobody reads a chat template there


def named_by_key(case: Case) -> tuple[str, ...]:
    """Return the key that a bad example is objected to for: what can be said of it without reading it."""
    return (f"objects to: {case.at}",) if case.at else ()


def render_page(rule: Rule, objections: Callable[[Case], Iterable[str]] = named_by_key) -> str:
    """Return a rule's page in Markdown: its docstring, its examples, and what it rests on.

    Args:
        rule: The rule.
        objections: Gives what the rule says of one of its bad examples.
    """
    summary, _, sections = (rule.explain or "").partition("\n")
    before, _, safety = sections.strip().partition("## Fix safety\n")
    parts = [
        f"# {rule.code} {rule.name}",
        summary,
        " · ".join(_properties(rule)),
        before.strip(),
        "## Example",
        *(_render_case(case, objections(case)) for case in rule.bad),
        "## Use instead",
        _render_case(rule.good[0]),
        *(["## Also fine"] if rule.good[1:] else []),
        *map(_render_case, rule.good[1:]),
        f"## Fix safety\n{safety.strip()}",
        f"## References\n{rule.source}",
    ]
    return "\n\n".join(parts) + "\n"


def _properties(rule: Rule) -> Iterator[str]:
    yield f"Severity: {rule.severity}"
    yield f"asked about {', '.join(PLURAL[kind] for kind in sorted(rule.kinds))}"
    needs = sorted(NEEDS.get(name, name) for name in rule.needs - {"job"})
    yield f"needs {', '.join(needs)}" if needs else "needs nothing else"
    yield "fixable" if rule.fixable else "no automatic fix"


def _render_case(case: Case, objections: Iterable[str] = ()) -> str:
    """Return one example as a block: what the outside said, the source, and what is objected to in it."""
    versions = ", ".join(f"{package} {version}" for package, version in case.versions.items())
    told = [f"{name}: {spelled}" for name, fact in case.facts.items() if (spelled := _spell(fact))]
    told += [f"with {versions}"] if versions else []
    found = [fill(each, WIDTH, initial_indent="# ", subsequent_indent="#   ") for each in objections]
    block = "\n".join([f"```{LANGUAGES[case.kind]}", case.source.strip(), *found, "```"])
    return "\n\n".join([f"*{'; '.join(told)}*", block]) if told else block


def _spell(fact: object) -> str:
    """Write a fact on one line, without what it leaves at its default."""
    match fact:
        case str():
            told = shorten(fact, LONGEST, placeholder=" …")
        case Seen(mention, found, because):
            told = f"of `{mention.name}`: {_spell(found) if found else f'not known, {because}'}"
        case frozenset():
            told = f"[{', '.join(sorted(map(_spell, fact)))}]"
        case tuple() | list():
            told = f"[{', '.join(map(_spell, fact))}]"
        case Mapping():
            told = ", ".join(f"{name} = {_spell(value)}" for name, value in fact.items())
        case _:
            told = ", ".join(_fields(fact)) if is_dataclass(fact) else str(fact)
    return told


def _fields(fact: Any) -> Iterator[str]:
    values = ((field, getattr(fact, field.name)) for field in fields(fact))
    return (f"{field.name} {_spell(value)}" for field, value in values if value != _default(field))


def _default(field: object) -> object:
    factory = getattr(field, "default_factory", MISSING)
    return factory() if callable(factory) else getattr(field, "default", MISSING)


def render_keys(schema: Mapping[str, Any]) -> str:
    """Return the keys of a job file with what each means, from its JSON Schema, in Markdown."""
    return "\n".join(["# The job file", "", *_keys(schema, schema.get("$defs", {}), "")]) + "\n"


def _keys(part: Mapping[str, Any], parts: Mapping[str, Any], above: str) -> Iterator[str]:
    for name, key in part.get("properties", {}).items():
        needed = " (required)" if name in part.get("required", ()) else ""
        yield f"- `{above}{name}`{needed}: {key.get('description', '')}"
        for inner in _parts_of(key, parts):
            yield from _keys(inner, parts, f"{above}{name}.")


def _parts_of(key: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what a key's mapping may hold, wherever its schema says so."""
    for one in (key, *key.get("anyOf", ())):
        if "$ref" in one:
            inner = parts[one["$ref"].rpartition("/")[2]]
            if "properties" in inner:
                yield inner
