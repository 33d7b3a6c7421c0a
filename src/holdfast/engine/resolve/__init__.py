"""Which versions of the libraries a project gets, by what it declares and by what their releases need of one another.

From the history alone, without a registry; nothing is installed. As `uv` does it: the newest releases that fit
together, those that are declared first; with `lowest`, the lowest that each declared range admits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from holdfast.catalog.api import FOLDER, load_history, made, packages
from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.text.places import Place
from holdfast.engine.resolve.releases import OUTSIDE
from holdfast.engine.resolve.resolution import USUAL_PYTHON, Constraint, Resolution, choose_python, constraints_of
from holdfast.engine.resolve.resolver_input import ResolverInput
from holdfast.engine.resolve.search import Domains, SearchLimitError
from holdfast.engine.resolve.uncertainty import affected_packages, indirect_bounds, sources, upper_bounded

__all__ = ["USUAL_PYTHON", "Resolution", "choose_python", "resolve", "resolved_by"]

IMPORTANCE: Final = ("trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub")
"""Where nothing is declared: whose newest release matters most."""


def resolve(declared: ProjectRequirements, *, python: str = USUAL_PYTHON, folder: Path = FOLDER) -> Resolution:
    """Return which versions a project gets.

    Where it declares nothing at all, the newest of all packages that fit together.

    Args:
        declared: What it declares.
        python: The Python that runs it, unless it does not admit that one: `3.12`.
        folder: Where the histories lie.
    """
    python = choose_python(declared.python, python)
    known, date = packages(folder), made(folder=folder)
    wanted = constraints_of(declared.requirements, python)
    about = Resolution(declared=_first_requirements(wanted, known), python=python, date=date)
    if declared.unsure:
        return replace(about, unknown=dict.fromkeys(known, declared.unsure))
    if declared.exact:
        return _as_installed(wanted, folder, about)
    puzzle = ResolverInput(
        wishes=wanted if declared.requirements else _everything(known),
        python=python,
        date=date,
        folder=folder,
        limits=constraints_of(declared.requirements, python, limits=True),
        before=declared.before,
    )
    return _with_lowest(_answer(puzzle, about), puzzle)


def _first_requirements(wanted: Mapping[str, Constraint], known: Sequence[str]) -> dict[str, Requirement]:
    """Return the first requirement of each package that has a history."""
    return {name: each.first for name, each in wanted.items() if name in known}


def resolved_by(
    declared: ProjectRequirements,
    newest: Mapping[str, str],
    *,
    lowest: Mapping[str, str] | None,
    python: str,
    folder: Path = FOLDER,
) -> Resolution:
    """Return a resolution that something else made, such as uv; versions outside the history are unknown.

    Args:
        declared: What was resolved.
        newest: The version of each package, by importable name.
        lowest: The same with the lowest release that each declared range admits; None if that was not resolved.
        python: The Python it holds for.
        folder: Where the histories lie.
    """
    date, known = made(folder=folder), packages(folder)
    there, below = _released(newest, folder), _released(lowest or {}, folder)
    outside = [name for name, version in there.items() if not version]
    return Resolution(
        newest=_named(there),
        lowest=_named(below) if below not in ({}, there) else None,
        unknown={name: f"{name} {newest[name]} is not among the releases known on {date}" for name in outside},
        declared=_first_requirements(constraints_of(declared.requirements, python), known),
        python=python,
        date=date,
    )


def _released(versions: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the versions of packages that have a history; empty where a version is not among the releases."""
    return {name: _among(versions, name, folder) for name in packages(folder) if name in versions}


def _named(versions: Mapping[str, str]) -> dict[str, str]:
    return {name: version for name, version in versions.items() if version}


def _among(versions: Mapping[str, str], name: str, folder: Path) -> str:
    """Return a version as the history spells it; empty if it is not among the releases."""
    history = load_history(name, folder)
    index = history.index(versions[name]) if history else None
    return history.versions[index] if history and index is not None else ""


def _with_lowest(resolution: Resolution, inputs: ResolverInput) -> Resolution:
    """Return the answer with the lowest that is admitted, where a lowest version is declared and it makes a difference."""
    floors = any(wish.has_floor for name, wish in inputs.wishes.items() if name in inputs.release_index)
    if resolution.conflict is not None or not floors:
        return resolution
    lowest = _answer(replace(inputs, lowest=True), resolution).newest
    return replace(resolution, lowest=lowest) if lowest and lowest != resolution.newest else resolution


def _everything(known: tuple[str, ...]) -> dict[str, Constraint]:
    order = dict.fromkeys((*(name for name in IMPORTANCE if name in known), *known))
    return {name: Constraint((Requirement(name=name.replace("_", "-"), place=Place("")),)) for name in order}


def _as_installed(wanted: Mapping[str, Constraint], folder: Path, about: Resolution) -> Resolution:
    """Return the versions that are named as they are, and why some of them are not known."""
    newest: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for name in about.declared:
        history, wish = load_history(name, folder), wanted[name]
        certain = history and len(set(wish.pins)) == 1
        index = history.index(wish.pins[0]) if history and certain else None
        if history and index is not None:
            newest[name] = history.versions[index]
        else:
            unknown[name] = (
                wish.hidden or f"`{wish.first.text}` is not among the releases of {name} known on {about.date}"
            )
    return replace(about, newest=newest, unknown=unknown)


def _answer(inputs: ResolverInput, about: Resolution) -> Resolution:
    try:
        found = inputs.solved()
        blamed = inputs.blamed() if found is None else ()
    except SearchLimitError:
        return replace(about, unknown=dict.fromkeys(inputs.wishes, "it would take too long to resolve"))
    if found is None:
        return _unsolved(inputs, blamed, about)
    unknown = _unknown(inputs, found)
    newest = {name: inputs.version(name, choice) for name, choice in found.items() if name not in unknown}
    return replace(about, newest=newest, unknown=unknown)


def _unknown(inputs: ResolverInput, domains: Domains) -> dict[str, str]:
    """Return the packages whose version is not known, and why."""
    unknown = {name: inputs.outside_because(name) for name, choice in domains.items() if choice & OUTSIDE}
    fixed = frozenset(name for name, wish in inputs.wishes.items() if wish.pin)
    for doubts in (_directly_bounded, _indirectly_bounded, _dependent):
        for name, because in doubts(inputs, domains, fixed):
            unknown.setdefault(name, because)
    return unknown


Doubts = Iterator[tuple[str, str]]
"""Packages whose version may be another one, each with the reason."""


def _directly_bounded(inputs: ResolverInput, domains: Domains, fixed: frozenset[str]) -> Doubts:
    bounded = upper_bounded(wish.first.name for wish in inputs.wishes.values())
    for name, other in bounded.items():
        if name in domains and name not in fixed:
            yield name, f"{other} decides which {name} fits"


def _indirectly_bounded(inputs: ResolverInput, domains: Domains, fixed: frozenset[str]) -> Doubts:
    for name, needed, other in indirect_bounds(domains, inputs.search):
        held_back = other in domains and domains[other] != inputs.newest(other)
        doubtful = {other, name} if held_back else {other}
        for each in (doubtful & domains.keys()) - fixed:
            yield each, f"{needed}, which {name} needs, decides which {other} fits"


def _dependent(inputs: ResolverInput, domains: Domains, fixed: frozenset[str]) -> Doubts:
    for source, needed_by_it in sources(domains, inputs.wishes, inputs.search):
        for name in affected_packages(needed_by_it, domains, inputs.search, fixed):
            yield name, f"it depends on what {source} needs, which is not known"


def _unsolved(inputs: ResolverInput, blamed: tuple[str, ...], about: Resolution) -> Resolution:
    """Return the conflict, if it is one for sure, and the versions that are certain all the same."""
    pinned = [name for name, wish in inputs.wishes.items() if wish.pin and name in inputs.release_index]
    choices = {name: inputs.admitted(name) for name in pinned if name not in inputs.outside}
    newest = {name: inputs.version(name, choice) for name, choice in choices.items() if choice > OUTSIDE}
    newer = next((name for name in blamed if inputs.may_be_newer(name)), None)
    if newer:
        because = f"what {newer} needs is not known: {inputs.outside[newer]}"
        return replace(about, newest=newest, unknown={name: because for name in about.declared if name not in newest})
    return replace(about, newest=newest, conflict=inputs.conflict(blamed))
