"""Arguments of the verbs as Python spells them: one value stands for a list of one, a mapping for `KEY=VALUE`."""

import json
import os
from collections.abc import Iterable, Mapping
from errno import ENAMETOOLONG
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

from holdfast.core.errors import UsageError

PathName = str | PathLike[str]
PathNames = PathName | Iterable[PathName]
Overrides = Mapping[str, Any] | Iterable[str] | str
Texts = Iterable[str] | str
SHOWN: Final = 60
"""Characters of a path that are shown of one that is too long."""


def as_paths(paths: PathNames) -> tuple[str, ...]:
    """Return the paths as text.

    >>> as_paths("train.py"), as_paths(["a.py", "b.py"])
    (('train.py',), ('a.py', 'b.py'))

    Raises:
        UsageError: One of them is empty.
    """
    return (as_path(paths),) if isinstance(paths, str | PathLike) else tuple(map(as_path, paths))


def as_path(path: PathName) -> str:
    """Return a path as text.

    Raises:
        UsageError: It is empty, as that of a shell variable that is not set; it would stand for the current folder. Or it is so long that
            there can be no such file.
    """
    text = fspath(path)
    if not text.strip():
        raise UsageError("a path is empty", where=repr(text), fix="name a file or a folder; `.` is the current one")
    if _is_too_long(text):
        where, fix = f"{text[:SHOWN]}…", "name an existing file or folder, or a shorter one"
        raise UsageError(f"no file can have a name of {len(text):,} characters", where=where, fix=fix)
    return text


def _is_too_long(path: str) -> bool:
    """True of a path that is longer than the system takes; an address may be."""
    if "://" in path:
        return False
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno == ENAMETOOLONG
    except ValueError:  # a zero byte, or half of a character
        return False
    return False


def as_overrides(overrides: Overrides) -> tuple[str, ...]:
    """Return the overrides of a job file as `--set` takes them.

    >>> as_overrides({"train.max_steps": 20, "model.dtype": None})
    ('train.max_steps=20', 'model.dtype=null')
    """
    if isinstance(overrides, Mapping):
        return tuple(f"{key}={json.dumps(value)}" for key, value in overrides.items())
    return as_texts(overrides)


def as_codes(codes: Texts) -> tuple[str, ...]:
    """Return the codes of a list, in which commas separate them too.

    >>> as_codes(["ARG,IMP", "DEP101"])
    ('ARG', 'IMP', 'DEP101')
    """
    return tuple(code.strip() for text in as_texts(codes) for code in text.split(",") if code.strip())


def as_texts(texts: Texts) -> tuple[str, ...]:
    """Return the texts of a list, or the one that is given.

    >>> as_texts("ARG")
    ('ARG',)
    """
    return (texts,) if isinstance(texts, str) else tuple(texts)


def runs_folder(requested: PathName | None, of_job: str | None = None) -> Path:
    """Return the runs folder: the one that is requested, else HOLDFAST_RUNS, else the job's, else `./runs`."""
    named = (requested is not None and as_path(requested)) or os.environ.get("HOLDFAST_RUNS") or of_job or "runs"
    try:
        return Path(as_path(named)).resolve()
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links in a circle
        what = f"the runs folder cannot be used: {error.strerror if isinstance(error, OSError) else error}"
        raise UsageError(what, where=repr(named)[:200], fix="name another with --runs") from error
