"""Where a script runs, which says nothing of it itself: by overrides of `where` and `environment`, and by its header.

Source of the header: `[tool.hf-jobs]` as `hf jobs uv run` of huggingface_hub 2.4 reads it (`cli/_uv_script_header.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from holdfast.adapters.targets import read_text
from holdfast.adapters.targets.overrides import parse_set
from holdfast.core.environment.script_header import read_header
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Set
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.job_file.job import Environment, Where
from holdfast.core.run.backends import BACKEND_KEY, DEFAULT_BACKEND, HF_JOBS

PARTS: Final = ("where", "environment")
LIMITS: Final = ("where.timeout", "where.stall_timeout")
"""What can be said of a script that runs on this machine."""
HEADER: Final = "[tool.hf-jobs]"
IN_HEADER: Final[Mapping[str, tuple[str, ...]]] = {
    "flavor": ("where", "hardware"),
    "timeout": ("where", "timeout"),
    "image": ("where", "options", "image"),
    "namespace": ("where", "options", "namespace"),
    "volumes": ("where", "options", "volumes"),
    "env": ("environment", "variables"),
    "secrets": ("environment", "secrets"),
}
"""Keys of the header by where a job file has them."""
WITHOUT_EFFECT: Final = ("name", "labels", "python")
"""Keys that holdfast has its own values for; the Python is that of the header's `requires-python`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a script runs.

    Attributes:
        where: The place; that of a job file stands in the file, and this is the default then.
        environment: Its variables and secrets.
        sets: The overrides that are not about this.
    """

    where: Where = field(default_factory=Where)
    environment: Environment = field(default_factory=Environment)
    sets: tuple[str, ...] = ()

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is another backend than the default one."""
        return self.where.backend != DEFAULT_BACKEND.name


def read_placement(path: str, sets: Iterable[str]) -> Placement:
    """Return where a script runs. Of anything else, all overrides are left over.

    Raises:
        UsageError: An override, or a key of the header, is wrong.
    """
    sets = tuple(sets)
    edits = [(text, parse_set(text).edit) for text in sets]
    if target_kind(path) is not TargetKind.SCRIPT:
        return Placement(sets=sets)
    backend = _backend(edit for _, edit in edits)
    values: dict[str, Any] = _header_values(path) if backend == HF_JOBS.name else {}
    left = list[str]()
    for text, edit in edits:
        if _is_placement(edit.key, backend):
            _put(values, tuple(edit.key.split(".")), edit.value)
        else:
            left.append(text)
    return _placement(values, tuple(left))


def _backend(edits: Iterable[Set]) -> Any:
    """Return the backend that the last override names, else the default one."""
    named = [edit.value for edit in edits if edit.key == BACKEND_KEY]
    return named[-1] if named else DEFAULT_BACKEND.name


def _is_placement(key: str, backend: object) -> bool:
    """True if a key says where a script runs; on this machine, only limits of time can be set."""
    if backend == DEFAULT_BACKEND.name:
        return key in LIMITS
    part, dot, _ = key.partition(".")
    return bool(dot) and part in PARTS


def _placement(values: Mapping[str, Any], sets: tuple[str, ...]) -> Placement:
    """Return the placement with some values.

    Raises:
        UsageError: One is wrong.
    """
    try:
        where = Where.model_validate(values.get("where", {}))
        environment = Environment.model_validate(values.get("environment", {}))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"`{key}`: {first['msg']}", where=f"--set, or {HEADER}", fix="correct it") from None
    return Placement(where=where, environment=environment, sets=sets)


def _header_values(path: str) -> dict[str, Any]:
    """Return the settings in a script's header, under the keys of a job file.

    Raises:
        UsageError: It has a key that holdfast cannot honour.
    """
    table = read_header(read_text(path), path).get("tool", {}).get("hf-jobs", {})
    if not isinstance(table, Mapping):
        raise UsageError(f"`{HEADER}` is not a table", where=path, fix="correct the header")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in IN_HEADER:
            timed = key == "timeout" and not isinstance(value, str)
            _put(values, IN_HEADER[key], f"{value}s" if timed else value)
        elif key not in WITHOUT_EFFECT:
            what = f"`{key}` of {HEADER} has no counterpart in holdfast"
            raise UsageError(what, where=path, fix=f"remove it; {', '.join(IN_HEADER)} are honoured")
    return values


def _put(values: dict[str, Any], keys: tuple[str, ...], value: object) -> None:
    *parents, last = keys
    for parent in parents:
        inner = values.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise UsageError(f"`{'.'.join(keys)}` cannot be set", where="--set", fix=f"set `{parent}` as a whole")
        values = inner
    values[last] = value
