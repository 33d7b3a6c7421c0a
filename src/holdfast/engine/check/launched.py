"""What a launcher adds to the requirements that a program or its project declares: `uv run --with trl==0.19.1`.

What the same shell script installs before it starts the program is what the program gets, whatever its project declares.

Source: uv 0.13, `uv run --help`; huggingface_hub 2.4, `run_uv_job`. What is given by `--with` is resolved after a script's
header, or the project's own, in an environment that is laid over theirs: a package that both name comes from `--with`
(tried with wheels of our own). `uv run` reads no requirements file, and a job on Hugging Face Jobs is given
nothing of the project around the script.
"""

import re
from dataclasses import replace
from typing import Final

from holdfast.core.environment.requirement import ProjectRequirements, Requirement, parse_requirement
from holdfast.core.job.document import Document

PYTHON: Final = re.compile(r"3(?:\.[0-9]{1,3}){1,2}")
DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
UV_RUN, UV_JOB, IMAGE_JOB = "uv run", "hf jobs uv run", "hf jobs run"
ISOLATED: Final = frozenset({UV_JOB, "uvx", "uv tool run"})
"""Launchers that know nothing of the project around a script."""
CORE: Final = frozenset({"trl", "transformers"})
"""What is installed counts where it names one of these."""
BRINGS_ITS_OWN: Final = frozenset({UV_RUN, *ISOLATED})
WITH_THEIR_OWN: Final = frozenset({"LLaMA-Factory"})
"""Programs that read a file of their own, and require the libraries in versions that they say."""
READ_BY_UV: Final = frozenset({"header", "project", "lock"})


def with_launched(declared: ProjectRequirements, document: Document) -> ProjectRequirements:
    """Return the requirements of a program, given those that it or its project declares and those of its launchers."""
    by = _texts(document, "launch.by")
    installed = _requirements(document, "launch.installs")
    if any(each.name in CORE for each in installed) and not BRINGS_ITS_OWN & set(by):
        return ProjectRequirements(
            kind="command", origin="the commands before it", requirements=installed, python=declared.python
        )
    if not by:
        return declared
    added = _requirements(document, "launch.requirements")
    return _with_limits(_joined(_read_by(by, declared, added), added), document)


def _read_by(
    launchers: list[str], declared: ProjectRequirements, added: tuple[Requirement, ...]
) -> ProjectRequirements:
    """Return the requirements that launchers read beside those that they are given."""
    if launchers[-1] in WITH_THEIR_OWN:
        return ProjectRequirements(kind="command", origin=f"what {launchers[-1]} requires")
    if declared.kind == "header":
        return declared
    if IMAGE_JOB in launchers:
        return ProjectRequirements()  # the image holds the libraries
    if ISOLATED & set(launchers):
        return ProjectRequirements(kind="command", origin="the command line")
    return _unless_replaced(declared, added)


def _unless_replaced(declared: ProjectRequirements, added: tuple[Requirement, ...]) -> ProjectRequirements:
    """Return declared requirements; of those that uv does not read, the Python alone if there are others."""
    if not added or declared.kind in READ_BY_UV:
        return declared
    return ProjectRequirements(kind="command", origin="the command line", python=declared.python)


def layers(declared: ProjectRequirements, document: Document) -> tuple[ProjectRequirements, ...]:
    """Return the two sets of requirements that uv resolves one after the other; none if it resolves one alone."""
    added = _requirements(document, "launch.requirements")
    laid_over = added and declared.kind in READ_BY_UV and {UV_RUN, UV_JOB} & set(_texts(document, "launch.by"))
    return (declared, replace(declared, kind="command", requirements=added)) if laid_over else ()


def _requirements(document: Document, key: str) -> tuple[Requirement, ...]:
    place = document.place("environment.requirements")
    parsed = (parse_requirement(text, place) for text in _texts(document, key))
    return tuple(each for each in parsed if isinstance(each, Requirement))


def _joined(declared: ProjectRequirements, added: tuple[Requirement, ...]) -> ProjectRequirements:
    """Return requirements with others laid over them: another version takes the declared one's place."""
    if not added:
        return declared
    names = _names_with_version(added)
    kept = [each for each in declared.requirements if each.name not in names]
    origin = declared.origin if declared.kind == "command" else f"{declared.origin} and the command line"
    unsure = declared.unsure or _doubt(declared, [each for each in added if each.name in names])
    return replace(declared, requirements=(*kept, *added), origin=origin, unsure=unsure)


def _names_with_version(requirements: tuple[Requirement, ...]) -> set[str]:
    return {each.name for each in requirements if each.specifier or each.url}


def _doubt(declared: ProjectRequirements, others: list[Requirement]) -> str:
    """Return why versions are not known that a lock gave before others took their place; empty if they are."""
    unpinned = declared.exact and any(each.pin is None for each in others)
    return "the command line asks for other versions than the lock" if unpinned else ""


def _with_limits(declared: ProjectRequirements, document: Document) -> ProjectRequirements:
    """Return the same with the Python and the day that the command line names; in doubt, where it names a file."""
    python, before = document.get("launch.python", None), document.get("launch.before", None)
    if isinstance(python, str) and PYTHON.fullmatch(python):
        declared = replace(declared, python=f"=={python}.*" if python.count(".") == 1 else f"=={python}")
    if isinstance(before, str) and DAY.fullmatch(before):
        declared = replace(declared, before=before)
    unread = document.get("launch.unread", None)
    return replace(declared, unsure=declared.unsure or f"{unread} is not read") if unread else declared


def _texts(document: Document, key: str) -> list[str]:
    listed = document.get(key, [])
    return [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []
