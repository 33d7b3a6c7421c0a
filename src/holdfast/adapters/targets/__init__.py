"""What a user names on the command line: a job file, a script, a notebook, a shell script, or standard input."""

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from shlex import quote
from tokenize import detect_encoding
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.secrets import mask
from holdfast.catalog.data.files import READ, ending_of
from holdfast.core.errors import Spot, UsageError
from holdfast.core.job.document import Document, Edit
from holdfast.core.job.notebook import read_cells
from holdfast.core.job.scenario import ScenarioChoices
from holdfast.core.job.target_kind import STANDARD_INPUT, TargetKind, target_kind
from holdfast.core.text.nearest import nearest
from holdfast.core.text.places import TextEdit
from holdfast.core.text.redact import named_secrets, secrets_in_yaml

if TYPE_CHECKING:
    from holdfast.core.job_file.job import Job  # for the type alone: pydantic takes a third of a script's check

UTF8: Final = "save the file as UTF-8 text; or name another, if it is not a text file"
KNOWN: Final = "name a job file (.yaml), a script (.py), a notebook (.ipynb) or a shell script (.sh)"
SHELL: Final = (".sh", ".sbatch", ".slurm")
"""Suffixes of shell scripts that a folder is searched for."""
SETTINGS: Final = (".yaml", ".yml", ".json")
"""Suffixes of files that hold settings."""
LOGS: Final = (".log", ".out", ".err")
"""Suffixes of logs."""
DATA: Final = frozenset(READ) - {".json"}
"""Endings of data files; a recipe of another trainer may be JSON."""


class PlaceEdits(Protocol):
    """Turns edits of a document into edits of its text."""

    def __call__(self, document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
        """Return the text edits.

        Raises:
            UsageError: They cannot be made in this text.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target, read.

    Attributes:
        documents: What it says, with overrides in it: one document for each job that a script trains.
        job: The job, of a job file; None of a script.
        place_edits: Turns edits of one of the documents into edits of its text.
        can_place: Says whether the edits can be placed, faster than placing them; None if nothing is faster.
        modules: Names of the modules that were looked for beside it.
        reads_more: Whether other files were looked for too: scripts that it sends away, settings.
        by_default: What a script says when its options have their defaults; empty if it has none, or if it is known what they are given.
        scenario: What the scenario of a job changed in it; None if the job names none.
    """

    documents: tuple[Document, ...]
    job: "Job | None" = None
    place_edits: PlaceEdits
    can_place: Callable[[Document, Iterable[Edit]], bool] | None = None
    modules: frozenset[str] = frozenset()
    reads_more: bool = False
    by_default: tuple[Document, ...] = ()
    scenario: ScenarioChoices | None = None

    @property
    def document(self) -> Document:
        """What it says; of a script that trains several jobs, what it says of the first."""
        return self.documents[0]


def read_target(
    path: str, sets: Iterable[str] = (), arguments: Iterable[str] = (), *, text: str | None = None
) -> Target:
    """Read a job file with its overrides, or a script or notebook with its own arguments.

    Args:
        path: The target.
        sets: The overrides.
        arguments: The arguments.
        text: What is taken for the file's text; what it holds if None.

    Raises:
        UsageError: There is no such file, it cannot be read, it is not a job file and overrides are given, it is not a script
            and arguments are given, or standard input holds no script.
        ExceptionGroup: Of a JobError for every problem of a job file.
    """
    if sets:
        _require_takes_overrides(path, sets)
    if arguments:
        require_takes_arguments(path)
    _require_no_output(path)
    text = read_text(path) if text is None else text
    _require_no_piped_notebook(path, text)
    target = _target_reader(target_kind(path))(text, path, tuple(sets), tuple(arguments))
    for document in target.documents:
        mask(named_secrets(document.values))
    return target


def _require_takes_overrides(path: str, sets: Iterable[str]) -> None:
    """Check that a target may be a job file, which alone takes overrides.

    Raises:
        UsageError: It is none.
    """
    kind = target_kind(path)
    if kind.is_program or kind is TargetKind.COMMANDS:
        from holdfast.adapters.targets.overrides import require_no_overrides

        require_no_overrides(path, sets)


def _require_no_output(path: str) -> None:
    """Check that a target is neither data nor a log, which other verbs read.

    Raises:
        UsageError: It is one of them.
    """
    if ending_of(path) in DATA:
        fix = f"`holdfast inspect {quote(path)}` looks at data"
        raise UsageError("this is a data file, not a job", where=path, fix=fix)
    if Path(path).suffix in LOGS:
        fix = f"`holdfast diagnose {quote(path)}` finds out why a job failed"
        raise UsageError("this is a log, not a job", where=path, fix=fix)


def _require_no_piped_notebook(path: str, text: str) -> None:
    """Check that standard input is a script.

    Raises:
        UsageError: It is a notebook.
    """
    if path == STANDARD_INPUT and read_cells(text):
        fix = "save it to a file: `holdfast check notebook.ipynb`"
        raise UsageError("standard input is a notebook; only scripts can be read from it", where=path, fix=fix)


def takes_arguments(path: str) -> bool:
    """True if a target is a script, which may be given arguments of its own."""
    return target_kind(path) is TargetKind.SCRIPT


def require_takes_arguments(path: str) -> None:
    """Check that a target is a script, which alone takes arguments.

    Raises:
        UsageError: It is none.
    """
    if takes_arguments(path):
        return
    fix = "override a key with `--set KEY=VALUE`" if path.endswith(SETTINGS) else "write them into the file"
    what = f"{path} is not a script, so it takes no arguments after `--`"
    raise UsageError(what, where="--", fix=f"{fix}; or name no target to give a whole command line after `--`")


def _target_reader(kind: TargetKind) -> Callable[[str, str, tuple[str, ...], tuple[str, ...]], Target]:
    """The function that reads targets of a kind. A job file needs a YAML parser and a schema, a script neither."""
    match kind:
        case TargetKind.SCRIPT:
            from holdfast.adapters.targets import scripts

            return scripts.read
        case TargetKind.NOTEBOOK:
            from holdfast.adapters.targets import notebooks

            return notebooks.read
        case TargetKind.COMMANDS:
            from holdfast.adapters.targets import commands

            return commands.read
        case _:
            from holdfast.adapters.targets import jobs

            return jobs.read


def missing_file(path: str, where: str | Spot) -> UsageError:
    """Return the error that there is no such file, with the one that may be meant."""
    return UsageError(f"no such file: {path}", where=where, fix=_meant_file(path))


def _meant_file(path: str) -> str:
    """Return which file of the folder was meant, or what can be named."""
    near = _near_file(path)
    return f"did you mean `{near}`?" if near else KNOWN


def _near_file(path: str) -> Path | None:
    """Return the file of the same folder and kind whose name is nearest to a path's; None if none resembles it."""
    folder, suffix = Path(path).parent, Path(path).suffix
    names = tuple(sorted(each.name for each in folder.glob(f"*{suffix}"))) if folder.is_dir() else ()
    near = nearest(Path(path).name, names)
    return folder / near if near else None


def read_text(path: str) -> str:
    """Return a file's text, or standard input's for `-`.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        return _read_input() if path == STANDARD_INPUT else _decoded(read_foreign(Path(path)), path)
    except FileNotFoundError:
        raise missing_file(path, str(Path.cwd())) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not {error.encoding.upper()} text: {error.reason}", where=path, fix=UTF8
        ) from error
    except (SyntaxError, LookupError, UnicodeError) as error:  # what a script says of its own encoding
        raise UsageError(f"{path} cannot be read: {error}", where=path, fix=UTF8) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", where=path, fix=KNOWN) from error


def _read_input() -> str:
    """Return the text on standard input.

    Raises:
        UsageError: It is closed.
    """
    if getattr(sys.stdin, "name", "") == os.devnull:  # which `open_closed_streams` opens in its place
        raise UsageError("standard input is closed", where=STANDARD_INPUT, fix="pipe the script in, or name its file")
    return _read_whole(sys.stdin)


@lru_cache(maxsize=1)
def _read_whole(stream: TextIO) -> str:
    """Return all that standard input holds, as often as it is requested."""
    return stream.read()


def _decoded(content: bytes, path: str) -> str:
    """Return a file's text, in the encoding that a script may name; a mark at the beginning is no part of it."""
    encoding = detect_encoding(BytesIO(content).readline)[0] if path.endswith(".py") else "utf-8-sig"
    text = content.decode(encoding)
    mask(secrets_in_yaml(text) if path.endswith(SETTINGS) else ())
    return text


def read_referred(names: Iterable[str], job_path: str) -> dict[str, str]:
    """Return the text of each Python file that a job names, found from the job file's folder or from here.

    Raises:
        UsageError: One is not there, or cannot be read.
    """
    return {name: read_beside(name, job_path) for name in names}


def path_beside(name: str, job_path: str) -> str:
    """Return the path of a file that a job names, from the job file's folder if it is there; else the name."""
    beside = Path(job_path).parent / name.rpartition(":")[0]
    return str(Path(job_path).parent / name) if beside.is_file() else name


def read_beside(name: str, job_path: str) -> str:
    """Return the text of a file that a job names, found from the job file's folder or from here.

    Raises:
        UsageError: It is not there, or cannot be read.
    """
    for path in (Path(job_path).parent / name, Path(name)):
        if path.is_file():
            return read_text(str(path))
    near = _near_file(name)
    fix = f"did you mean `{near}`?" if near else "correct the name, or write the file"
    raise UsageError(
        f"`{name}` is neither in the job file's folder nor in the working directory", where=job_path, fix=fix
    )
