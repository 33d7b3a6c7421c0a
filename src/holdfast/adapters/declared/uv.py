"""Which versions `uv` would install today: it asks the registry, and nothing is installed.

Covered: requirements by name, URL or repository, constraints, extras, markers, a day from which on releases do not count;
a requirement whose version cannot be known is left out.
Not covered: indexes that a requirements file names; uv's own settings and the environment's variables say which it asks.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.environment.versions import normalized
from holdfast.core.errors import SourceError, UsageError

LONGEST_S: Final = 300
"""An empty cache and a slow line take minutes; what takes longer will not end."""
VERSION: Final = re.compile(r"(?m)^([A-Za-z0-9._-]+)==([^\s;]+)")

FRAME: Final = frozenset("\u00d7\u2570\u2500\u25b6\u2502\u251c")
"""What uv draws around its errors."""

UvRunner = Callable[[list[str], str], tuple[int, str, str]]
"""Runs a command with an input; gives its exit code, its output and its errors."""


def ask_uv(
    declared: ProjectRequirements, python: str, *, lowest: bool = False, run: UvRunner | None = None
) -> dict[str, str]:
    """Return the version of each package that uv would install, by importable name.

    Args:
        declared: What a project declares.
        python: The Python that runs it: `3.12`.
        lowest: Whether the lowest release that each declared range admits is requested.
        run: What runs a command.

    Raises:
        UsageError: uv is not installed.
        SourceError: uv finds no solution, or cannot ask the registry.
    """
    uv = _require_uv()
    wanted = "\n".join(written(each) for each in declared.requirements if not (each.constraint or each.unknown))
    with TemporaryDirectory() as folder:
        limits = Path(folder) / "constraints.txt"
        limits.write_text("\n".join(written(each) for each in declared.requirements if each.constraint), "utf-8")
        command = [uv, "pip", "compile", *_options(declared, python, limits, lowest=lowest), "-"]
        code, output, errors = (run or _run)(command, wanted)
    if code:
        raise _no_solution(declared, errors)
    return _parse_versions(output)


def _require_uv() -> str:
    uv = find_uv()
    if uv is None:
        raise UsageError("`--resolve uv` needs uv", where="--resolve", fix="`pip install uv`, or leave it out")
    return uv


def _parse_versions(output: str) -> dict[str, str]:
    return {normalized(name).replace("-", "_"): version for name, version in VERSION.findall(output)}


def _options(declared: ProjectRequirements, python: str, limits: Path, *, lowest: bool) -> list[str]:
    """Return the options of `uv pip compile`, given the file with the constraints."""
    options = ["--quiet", "--no-header", "--no-annotate", "--python-version", python, "--constraint", str(limits)]
    options += ["--resolution", "lowest-direct"] if lowest else []
    options += ["--exclude-newer", declared.before] if declared.before else []
    return options


def _no_solution(declared: ProjectRequirements, errors: str) -> SourceError:
    where = declared.path or declared.origin
    return SourceError(f"uv finds no versions: {_one_line(errors)}", where=where, fix="change the requirements")


def written(each: Requirement) -> str:
    """Return a requirement in the words of PEP 508.

    >>> from holdfast.core.text.places import Place
    >>> written(Requirement(name="trl", specifier=">=1", extras=frozenset({"peft"}), place=Place("r")))
    'trl[peft]>=1'
    """
    extras = f"[{','.join(sorted(each.extras))}]" if each.extras else ""
    version_part = f" @ {each.url}" if each.url else each.specifier
    return f"{each.name}{extras}{version_part}" + (f" ; {each.marker}" if each.marker else "")


def _run(command: list[str], given: str) -> tuple[int, str, str]:
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=LONGEST_S)  # noqa: S603 # words, no shell
    except subprocess.TimeoutExpired:
        return 1, "", f"no answer within {LONGEST_S} s"
    return done.returncode, done.stdout, done.stderr


def _one_line(errors: str) -> str:
    """Return uv's error message on one line."""
    words = [word for word in errors.split() if FRAME.isdisjoint(word)]
    return " ".join(words) or "it does not say why"


def find_uv() -> str | None:
    """Return the path of uv, beside this Python or on PATH."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")
