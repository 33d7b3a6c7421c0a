"""What overrides a job file: the environment, then `--set`. Values are YAML, as in the file."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from holdfast.adapters.yaml.compose import compose
from holdfast.adapters.yaml.tree import value_of
from holdfast.core.errors import GroupedError, JobError, Spot, UsageError
from holdfast.core.job.document import Document, Set
from holdfast.core.job.scenario import SCENARIO_KEY
from holdfast.core.job_file.secret_references import UNNAMED
from holdfast.core.run.backends import BACKEND_KEY, LOCAL
from holdfast.core.text.json_text import DEEPEST
from holdfast.core.text.places import Place

PREFIX = "HOLDFAST_"
NOT_KEYS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "ACCEPTED",
        "ATTEMPT",
        "BASE",
        "CACHE",
        "EVALUATION",
        "EVENTS",
        "EXPORT",
        "FAKE",
        "FILES",
        "HUB_TIMEOUT_S",
        "MCP_TOKEN",
        "PRICES",
        "PROCESSES",
        "REHEARSAL",
        "REHEARSAL_BARE",
        "RESUME",
        "REWARD",
        "ROWS",
        "RUN",
        "RUNS",
        "SANDBOXED",
        "SKIP",
        "SPIKES",
        "STARTED",
        "TIMEOUT",
        "TRACE",
        "VIEWER",
        "WEBHOOK",
    )
)
"""Variables that holdfast itself reads or sets."""
ALIASES = {"NUM_GPUS_OVERRIDE": "where.processes"}
"""Variables of other launchers that stand for a key."""
SHOWN_KEY: Final = 60
"""Characters that are shown of a key that is too long."""
TYPED: Final = "on the command line"
EXPORTED: Final = "in the environment"
RUNS_HERE: Final = Set(BACKEND_KEY, LOCAL.name)
"""What may be said of a script too: that it will run on this machine."""
AS_WRITTEN = ("environment", "variables")
"""The mapping whose keys are names in capitals."""


class Override(NamedTuple):
    """A value that goes before the job file's, and where it comes from."""

    edit: Set
    origin: Place


def parse_set(text: str) -> Override:
    """Return the override of one `--set KEY=VALUE`.

    Raises:
        UsageError: It has no `=`, no key, or its value is not valid YAML.

    >>> parse_set("train.learning_rate=1e-5").edit
    Set(key='train.learning_rate', value=1e-05)
    """
    key, equals, value = text.partition("=")
    if not equals:
        fix = f"write the key, `=` and the value: `--set {text or 'train.learning_rate'}=VALUE`"
        raise UsageError(f"{text!r} has no `=`, so no value", where="--set", fix=fix)
    if not all(key.split(".")):
        what = f"{key!r} is no key: a part of it is empty" if key else f"{text!r} has no key"
        raise UsageError(what, where="--set", fix="write `--set train.learning_rate=1e-5`")
    origin = f"--set {key}"
    return Override(Set(key, _parse_value(value, origin)), Place(origin, origin=TYPED))


def environment_edits(environ: Mapping[str, str]) -> tuple[Override, ...]:
    """Return the overrides of the environment; an empty variable is as good as none.

    `HOLDFAST_` and a key path, with two underscores for a dot: `HOLDFAST_TRAIN__LEARNING_RATE`.

    Raises:
        UsageError: A value is not valid YAML, or a name has an empty part.

    >>> [override.edit for override in environment_edits({"HOLDFAST_WHERE__NODES": "2", "HOLDFAST_RUNS": "runs"})]
    [Set(key='where.nodes', value=2)]
    """
    keys = {name: key for name, key in ALIASES.items() if environ.get(name)}
    for name in sorted(environ):
        if name.startswith(PREFIX) and not name.startswith(UNNAMED) and name not in NOT_KEYS and environ[name]:
            keys[name] = _spelled_key(name)
    return tuple(
        Override(Set(key, _parse_value(environ[name], name)), Place(name, origin=EXPORTED))
        for name, key in keys.items()
    )


def apply_overrides(document: Document, overrides: Iterable[Override]) -> Document:
    """Return the document with the overrides made, in order: the last one holds.

    Raises:
        GroupedError: Of a JobError for each that has no place in the job.
    """
    problems: list[JobError] = []
    for edit, origin in overrides:
        where = Spot(origin.path, origin.line, origin.column, origin.origin)
        if edit.key.count(".") >= DEEPEST:
            what = f"the key `{edit.key[:SHOWN_KEY]}…` has more than {DEEPEST} parts"
            problems.append(JobError(what, where=where, fix="`holdfast explain job` lists the keys"))
            continue
        try:
            document = document.with_values([edit], origin)
        except KeyError:
            parent = edit.key.rpartition(".")[0]
            what = f"`{edit.key}` cannot be set: `{parent}` is neither a mapping nor a list of that length"
            problems.append(JobError(what, where=where, fix=f"set `{parent}` as a whole"))
    if problems:
        raise GroupedError(f"{document.path} is not a job", problems)
    return document


def require_no_overrides(path: str, sets: Iterable[str]) -> None:
    """Object to overrides of what is not a job file; where a script will run may be said of it.

    Raises:
        UsageError: There is one.
    """
    for text in sets:
        edit = parse_set(text).edit
        if edit.key == SCENARIO_KEY:
            what = f"`--for` sets keys of a job file, and {path} is not one: scripts are not changed"
            fix = f"`holdfast explain for:{edit.value}` lists the settings; write those that you want into it"
            raise UsageError(what, where="--for", fix=fix)
        if edit != RUNS_HERE:
            what = f"`{edit.key}` cannot be set: {path} is not a job file"
            raise UsageError(what, where="--set", fix="give a script its own arguments after `--`")


def _spelled_key(name: str) -> str:
    """Return the dotted key a variable names; but for names of variables, all keys are in small letters."""
    key: tuple[str, ...] = ()
    for part in name.removeprefix(PREFIX).split("__"):
        if not part:
            fix = f"write `{PREFIX}TRAIN__LEARNING_RATE`, or unset it"
            raise UsageError(f"{name} names no key", where=name, fix=fix)
        key = (*key, part if key == AS_WRITTEN else part.lower())
    return ".".join(key)


def _parse_value(text: str, origin: str) -> Any:
    try:
        node = compose(text, origin)
    except ExceptionGroup as group:
        problem = group.exceptions[0]
        raise UsageError(
            f"the value is not valid YAML: {problem.args[0]}", where=origin, fix="put it in quotes"
        ) from None
    return None if node is None else value_of(node)
