"""The files of a job that are nowhere but here: they have to travel to a machine that shares none with this one.

Covered: modules that the script imports, files and folders that it names, at paths in the folder that holdfast is started in.
Not covered: paths that are computed at run time; they are not seen, as in `open(f"part-{rank}.txt")`.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.targets import Target, read_referred, read_target
from holdfast.app.targets.local_inputs import named_files, named_inputs, own_modules
from holdfast.core.check.reference import Reference
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document
from holdfast.core.job_file.job import Job
from holdfast.core.run.plan import Plan
from holdfast.engine.script.carried_files import referred_files

MOST_FILES: Final = 10_000
MOST_BYTES: Final = 5 << 30
"""What one run may send. It is sent once, and read by each attempt."""
SECRET: Final = re.compile(r"\.env(\..*)?|\.netrc|\.pypirc|\.git-credentials")
"""Names of files of secrets: what they hold is sent by `environment.secrets` alone."""
WHERE: Final = "the files beside the script"


def with_own_files(plan: Plan, target: Target, arguments: Sequence[str], places: Iterable[str]) -> Plan:
    """Return the plan with the files that its attempts need, by their paths from the folder that the script runs in.

    Args:
        plan: The plan of the target.
        target: The job.
        arguments: The script's own arguments.
        places: Folders that the machine of the job has: what is in them is not looked for here.

    Raises:
        UsageError: A file would not be there, or they are too many or too large.
    """
    root, name = Path(plan.cwd), _relative(plan.script_name, plan.cwd)
    script = root / name
    needed = dict.fromkeys(_needed_paths(plan, target, arguments, script, tuple(places)))
    paths = chain.from_iterable(map(_files_of, needed))
    files = {_inside(path, root): path.stat().st_size for path in paths if path.resolve() != script.resolve()}
    _require_modest(files)
    return replace(plan, script_name=name, files=files)


def _needed_paths(
    plan: Plan, target: Target, arguments: Sequence[str], script: Path, places: tuple[str, ...]
) -> Iterator[Path]:
    """Yield the files and folders that the attempts of a plan read, and the modules that they import.

    Raises:
        UsageError: One is not here, or would not be there.
    """
    root = Path(plan.cwd)
    documents, sources = _documents(plan, target), _own_sources(plan, target)
    modules = list(chain.from_iterable(own_modules(source, script) for source in sources))
    yield from modules
    names = named_files([*sources, *map(read_foreign_text, modules)], arguments, root)
    for name in (each for each in names if not SECRET.fullmatch(Path(each).name)):
        _require_relative(name, root)
        yield root / name
    for document in documents:
        yield from _named(document, root, places)
    if target.job:
        yield from _job_paths(target.job, Path(target.document.path).parent, root)


def _documents(plan: Plan, target: Target) -> tuple[Document, ...]:
    """Return the documents of the program that runs: of a job file, those of its script."""
    return read_target("script.py", text=plan.script).documents if target.job else target.documents


def _own_sources(plan: Plan, target: Target) -> list[str]:
    """Return the Python sources of the program: the script, and the files with a job's own functions."""
    taken = read_referred(referred_files(target.job), target.document.path).values() if target.job else ()
    return [plan.script, *taken]


def _job_paths(job: Job, folder: Path, root: Path) -> Iterator[Path]:
    """Yield the model and the data of a job file that are files or folders, from its own folder or from here."""
    for name in (job.model.path, job.dataset.path, *(each.path for each in job.dataset.mix)):
        _require_relative(name, root)
        path = next((path for path in (root / folder / name, root / name) if path.exists()), None)
        if path:
            yield path


def _named(document: Document, root: Path, places: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files and folders that a program reads data and models from.

    Raises:
        UsageError: One can only be here, and is not, or would not be there.
    """
    for each in named_inputs(document, root):
        if any(Path(each.name).is_relative_to(place) for place in places):
            continue
        if not each.paths and each.reference.local and each.reference.certain:
            raise _absent(each.reference, each.name)
        _require_relative(each.name, root)
        yield from each.paths


def _absent(reference: Reference, name: str) -> UsageError:
    what = f"the job reads `{name}`, which is not here, so that it cannot be sent to the job's machine"
    fix = "correct the path, or name a dataset or model of the Hub"
    return UsageError(what, where=str(reference.place or reference.key), fix=fix)


def _require_relative(name: str, root: Path) -> None:
    """Refuse a path that means another file on another machine.

    Raises:
        UsageError: It is absolute.
    """
    if Path(name).is_absolute():
        raise _elsewhere(name, root)


def _elsewhere(name: str, root: Path) -> UsageError:
    what = f"the job's machine would not have `{name}`: only files under {root}, named by relative paths, are sent"
    fix = "start holdfast in a folder that has it, and name it by a relative path; or put it on the Hub"
    return UsageError(what, where=WHERE, fix=fix)


def _files_of(path: Path) -> Iterator[Path]:
    """Yield a file, or the files in a folder: none that is hidden or made by Python."""
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def _inside(path: Path, root: Path) -> str:
    """Return a path from the folder that the script runs in.

    Raises:
        UsageError: It lies outside.
    """
    name = _relative(str(path), str(root))
    if Path(name).is_absolute() or name.split("/")[0] == "..":
        raise _elsewhere(name, root)
    return name


def _relative(path: str, root: str) -> str:
    """Return a path as it is from a folder, if it is in it."""
    whole = os.path.normpath(Path(root, path))
    return os.path.relpath(whole, root) if Path(whole).is_relative_to(root) else path


def _require_modest(files: dict[str, int]) -> None:
    """Refuse what would take too long to send.

    Raises:
        UsageError: The files are too many or too large.
    """
    size = sum(files.values())
    if len(files) > MOST_FILES or size > MOST_BYTES:
        largest = max(files, key=lambda name: files[name])
        what = f"the job's own files are too many to send: {len(files)} files with {size / 1e9:.1f} GB; the largest is `{largest}`"
        fix = "upload them to a repository on the Hub (`hf upload`), and name that"
        raise UsageError(what, where=WHERE, fix=fix)
