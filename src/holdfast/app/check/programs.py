"""Asking the rules about a program: a script, a notebook, or the commands that start one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from holdfast.adapters.declared import find_declared
from holdfast.adapters.targets import Target
from holdfast.app.check.script_rows import check_rows
from holdfast.catalog.api import packages
from holdfast.core.check.finding import Finding, Rule, Skip
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document
from holdfast.engine.check.answers import CheckedTarget
from holdfast.engine.check.by_default import add_by_default
from holdfast.engine.check.hub_facts import ReferenceResolver
from holdfast.engine.check.launched import layers, with_launched
from holdfast.engine.check.program import check_program
from holdfast.engine.check.program_facts import VersionContext
from holdfast.engine.resolve import IMPORTANCE, Resolution, choose_python, resolved_by
from holdfast.engine.resolve.assuming import assume_versions
from holdfast.engine.resolve.cached import resolve_cached

UV = "uv"


def check(target: Target, rules: Sequence[Rule], resolve: str, outside: ReferenceResolver) -> CheckedTarget:
    """Return the findings and skips for a program. Each script that a command starts has its own requirements."""
    results: list[Finding | Skip] = []
    resolved: dict[str, str] = {}
    because: dict[str, None] = {}
    for path, documents in _by_path(target.documents):
        versions = replace(resolve_versions(path, documents, resolve), outside=outside)
        defaults = [each for each in target.by_default if each.path == path]
        results += _results(documents, defaults, rules, versions)
        resolved |= _named(versions.versions, documents)
        because[_origin_of_versions(versions, resolve)] = None
    return CheckedTarget(
        document=target.document,
        method=_method(target.documents),
        resolved=resolved,
        because="; ".join(because),
        findings=tuple(result for result in results if isinstance(result, Finding)),
        skips=tuple(result for result in results if isinstance(result, Skip)),
        place_edits=target.place_edits,
        assumed=next((each.assumed for each in target.by_default), ()),
    )


def _results(
    documents: Sequence[Document], defaults: Sequence[Document], rules: Sequence[Rule], versions: VersionContext
) -> Iterator[Finding | Skip]:
    """Yield the results for a program; also those of the defaults of its options, if it has any, and of its rows."""
    found = check_program(rules, documents, versions)
    yield from add_by_default(found, check_program(rules, defaults, versions)) if defaults else found
    yield from check_rows(documents, rules, versions)


def _origin_of_versions(versions: VersionContext, resolve: str) -> str:
    if _needs_uv(versions.declared, resolve):
        return f"by {versions.declared.origin}; as uv resolves it"
    return versions.because


def _method(documents: Iterable[Document]) -> str | None:
    """Return the training method of the first document that names one."""
    methods = (document.get("method") for document in documents)
    return next((method for method in methods if isinstance(method, str)), None)


def resolve_versions(path: str, documents: Sequence[Document], resolve: str) -> VersionContext:
    """Return the versions that a program gets, by what is declared in it or around it, and what launches it.

    An environment counts only if it has all the libraries that the program uses; the script will run in another one then.
    """
    declared = find_declared(path, documents[0].text)
    if declared.kind == "environment" and not all(declared.named(package) for package in _used(documents)):
        declared = ProjectRequirements()
    declared = _fitting(with_launched(declared, documents[0]), layers(declared, documents[0]))
    if _needs_uv(declared, resolve):
        resolution, assumed = _by_uv(declared), dict[str, str]()
    else:
        resolution = resolve_cached(declared)
        assumed = assume_versions(declared, resolution, sorted(_used(documents), key=_importance))
    return VersionContext(
        resolution=resolution,
        declared=declared,
        assumed=assumed,
        unknown={
            name: resolution.unknown.get(name) or f"{declared.origin} does not say which {name} there will be"
            for name in sorted(_used(documents) - resolution.newest.keys() - assumed.keys())
        },
    )


def _fitting(declared: ProjectRequirements, parts: Sequence[ProjectRequirements]) -> ProjectRequirements:
    """Return requirements that uv resolves layer by layer: where all together exclude one another, the upper layer counts."""
    if not parts or resolve_cached(declared).conflict is None:
        return declared
    alone = [resolve_cached(each) for each in parts]
    if broken := next((part for part, each in zip(parts, alone, strict=True) if each.conflict is not None), None):
        return broken
    under = [each for each in parts[0].requirements if each.package not in alone[-1].newest]
    return replace(declared, requirements=(*under, *parts[-1].requirements))


def _needs_uv(declared: ProjectRequirements, resolve: str) -> bool:
    """True if uv has anything to say: where nothing is declared, or the versions themselves, it has not."""
    return resolve == UV and bool(declared.requirements) and not declared.exact


def _by_uv(declared: ProjectRequirements) -> Resolution:
    """Return the versions that uv would install; where it cannot say, nothing is known of any, and why."""
    from holdfast.adapters.declared import uv

    python = choose_python(declared.python)
    try:
        newest, lowest = uv.ask_uv(declared, python), uv.ask_uv(declared, python, lowest=True)
    except SourceError as error:
        known = resolve_cached(declared)
        return replace(known, newest={}, lowest=None, conflict=None, unknown=dict.fromkeys(known.declared, error.what))
    return resolved_by(declared, newest, lowest=lowest, python=python)


def _by_path(documents: Iterable[Document]) -> Iterator[tuple[str, list[Document]]]:
    for (path, _), group in groupby(documents, key=lambda document: (document.path, document.get("launch", None))):
        yield path, list(group)


def _named(versions: Mapping[str, str], documents: Sequence[Document]) -> Mapping[str, str]:
    """Return the versions of the libraries that matter to a program: those it uses, and what they rest on."""
    return {package: versions[package] for package in sorted(_used(documents) & versions.keys(), key=_importance)}


def _importance(package: str) -> tuple[bool, bool, str]:
    """Return a sort key for libraries, the most important first."""
    return package not in IMPORTANCE, package != "trl", package


def _used(documents: Sequence[Document]) -> set[str]:
    """Return the libraries that a program imports or calls, and what they rest on, of those whose history is known."""
    used = {imported.module.partition(".")[0] for document in documents for imported in document.imports}
    used |= {call.package for document in documents for call in document.calls}
    return (used | ({"transformers"} if "trl" in used else set())) & set(packages())
