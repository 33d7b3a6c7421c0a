"""What a launcher adds to the requirements that a program or its project declares: `uv run --with trl==0.19.1`.

Source: uv 0.9, `uv run --help`; huggingface_hub 2.4, `run_uv_job`. What is given by `--with` stands beside a script's
header; without one, beside the project's own. `uv run` reads no requirements file, and a job on Hugging Face Jobs is given
nothing of the project around the script.
"""

from dataclasses import replace
from typing import Final

from holdfast.core.document import Document
from holdfast.core.requirement import Declared, Requirement, parse_requirement

UV_RUN, UV_JOB, IMAGE_JOB = "uv run", "hf jobs uv run", "hf jobs run"
ISOLATED: Final = frozenset({UV_JOB, "uvx", "uv tool run"})
"""Launchers that know nothing of the project around a script."""
READ_BY_UV: Final = frozenset({"header", "project", "lock"})


def with_launched(declared: Declared, document: Document) -> Declared:
    """Return what a program runs with, given what it or its project declares and what its launchers say."""
    by = _texts(document, "launch.by")
    if not by:
        return declared
    added = _requirements(document)
    if IMAGE_JOB in by and declared.kind != "header":
        base = Declared()  # the image holds the libraries
    elif ISOLATED & set(by) and declared.kind != "header":
        base = Declared(kind="command", origin="the command line")
    elif added and declared.kind not in READ_BY_UV:
        base = Declared(kind="command", origin="the command line", python=declared.python)
    else:
        base = declared
    return _with_python(_joined(base, added), document)


def _requirements(document: Document) -> tuple[Requirement, ...]:
    place = document.place("environment.requirements")
    parsed = (parse_requirement(text, place) for text in _texts(document, "launch.requirements"))
    return tuple(each for each in parsed if isinstance(each, Requirement))


def _joined(declared: Declared, added: tuple[Requirement, ...]) -> Declared:
    """Return requirements with others beside them; in a lock, another version takes the locked one's place."""
    if not added:
        return declared
    names = {each.name for each in added if each.specifier or each.url}
    kept = [each for each in declared.requirements if not (declared.exact and each.name in names)]
    origin = declared.origin if declared.kind == "command" else f"{declared.origin} and the command line"
    unsure = declared.unsure
    if declared.exact and any(each.pin is None and each.name in names for each in added):
        unsure = unsure or "the command line asks for other versions than the lock"
    return replace(declared, requirements=(*kept, *added), origin=origin, unsure=unsure)


def _with_python(declared: Declared, document: Document) -> Declared:
    named = document.get("launch.python", None)
    if not isinstance(named, str) or not named.replace(".", "").isdigit():
        return declared
    return replace(declared, python=f"=={named}.*" if named.count(".") == 1 else f"=={named}")


def _texts(document: Document, key: str) -> list[str]:
    listed = document.get(key, [])
    return [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []
