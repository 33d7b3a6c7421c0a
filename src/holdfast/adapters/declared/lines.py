"""Requirements as pip takes them, on a line of a file or as words of a command."""

import re
from typing import Final
from urllib.parse import unquote, urlparse

from holdfast.core.environment.requirement import Requirement, RequirementProblem, parse_requirement
from holdfast.core.environment.versions import normalized
from holdfast.core.text.places import Place

NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
VARIABLE: Final = re.compile(r"[$%]\{?\w|\{\w*\}|\{\{")
FOLDER: Final = re.compile(r"^\.{0,2}/|^\.{1,2}($|\[)|^~|^[A-Za-z]:\\|^file:")
WHEEL: Final = re.compile(r"([A-Za-z0-9._]+)-([^-/]+)(?:-[^/]*)?\.whl$")
EGG: Final = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
NAMED: Final = re.compile(r"[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?\s*@\s*\w[\w+.-]*:")
"""What names its package before the place that it is taken from."""
REMOTE: Final = re.compile(r"^(git|hg|svn|bzr)\+|^https?://|^git@|^ssh://")


def read_requirement(text: str, place: Place) -> Requirement | RequirementProblem | None:
    """Return one requirement, or what is wrong with it; None of a folder that names no package.

    Beside names with versions, pip takes URLs, repositories and folders; shells and notebooks put variables in.
    """
    text = text.strip()
    if NAMED.match(text):
        return parse_requirement(text, place)
    if REMOTE.match(text) or FOLDER.match(text) or text.endswith(".whl"):
        return _from_url(text, place)
    if VARIABLE.search(text.partition(";")[0]):
        return _from_variable(text, place)
    return parse_requirement(_without_options(text), place)


def _without_options(text: str) -> str:
    """Return a line without pip's options for it, such as `--hash=…`."""
    return re.split(r"\s--?[a-z]", text, maxsplit=1)[0].strip()


def _from_url(text: str, place: Place) -> Requirement | None:
    url, _, marker = text.partition(" ;")
    name = _name_of(url)
    if not name:
        return None
    return Requirement(name=normalized(name), url=url.strip(), marker=marker.strip(), text=text, place=place)


def _name_of(url: str) -> str:
    """Return the package that a URL is of, as far as it says."""
    egg = EGG.search(url)
    wheel = WHEEL.search(url.partition("#")[0])
    if egg or wheel:
        return (egg or wheel)[1]  # type: ignore[index] # one of them is there
    last = unquote(urlparse(url.split("+", 1)[-1]).path).rstrip("/").rpartition("/")[2]
    found = NAME.match(last.partition("@")[0].removesuffix(".git").partition("[")[0])
    return found[0] if found and found[0] not in {".", ".."} else ""


def _from_variable(text: str, place: Place) -> Requirement | None:
    found = NAME.match(text)
    if found is None:
        return None
    return Requirement(name=normalized(found[0]), unknown=f"`{text}` holds a variable", text=text, place=place)
