"""What a run does beyond this machine: what an agent has to ask a person about before it starts one."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import structs

from holdfast.adapters.foreign_files import is_folder, is_there, read_foreign, read_foreign_text
from holdfast.adapters.storage.run_folder import has_plan, load_plan, load_request
from holdfast.adapters.targets import Target, read_referred, read_target
from holdfast.app.arguments import Overrides, PathName, Texts, as_overrides, as_path, as_texts
from holdfast.app.run.opening import open_resumable_run
from holdfast.app.run.placement import read_placement
from holdfast.app.run.runs import Run
from holdfast.app.targets.fetching import fetch_target
from holdfast.app.targets.local_inputs import own_modules
from holdfast.app.targets.rendering import script_of
from holdfast.catalog.hub.flavors import planned_prices
from holdfast.core.job.document import Document
from holdfast.core.run.backends import backend_of, capabilities_of
from holdfast.core.run.event import RunStage
from holdfast.core.run.plan import Plan
from holdfast.core.run.remedy import Permission
from holdfast.core.run.run_state import RunState
from holdfast.engine.references import WRITES, references
from holdfast.engine.run.outward import may_push, may_submit
from holdfast.engine.run.spending import SpendingLimits, most_usd
from holdfast.engine.script.carried_files import referred_files
from holdfast.results.run import RunEffects

UNNAMED: Final = "a repository that the source does not name"
SETTINGS: Final = (".py", ".yaml", ".yml", ".json", ".toml", ".cfg", ".sh", ".txt", ".jinja")
"""Files that may decide what a script does."""
LARGER: Final[Permission] = "hardware"
MOST_FILES: Final = 2000
MOST_FOLDERS: Final = 2000
MOST_BYTES: Final = 1 << 20
NOTHING: Final = RunEffects(pushes=(), backend="", costs=False, digest="")


def effects_of_run(
    target: PathName,
    *,
    set: Overrides = (),  # noqa: A002 - the option's name
    arguments: Texts = (),
) -> RunEffects:
    """Return what a run of a target would do.

    Raises:
        UsageError: There is no such target, or it cannot be read.
        ExceptionGroup: It breaks the schema of a job file.
    """
    overrides, words = as_overrides(set), as_texts(arguments)
    path = fetch_target(as_path(target))
    placement = read_placement(path, overrides)
    read = read_target(path, placement.sets, words)
    named = placement.where.backend if placement.is_elsewhere else backend_of(read.document).name
    where, backend = (read.job.where, read.job.where.backend) if read.job else (placement.where, named)
    limits = SpendingLimits(
        hardware=where.hardware,
        timeout_s=where.timeout_s,
        grows=read.job is not None and LARGER in read.job.recover.allow,
    )
    folder = Path(path).absolute().parent
    effects = _effects(read, backend, folder, [script_of(read), *overrides, *words])
    return _with_most_usd(effects, limits, {})


def effects_of_resume(run: PathName, *, accept_changes: bool = False, runs: PathName | None = None) -> RunEffects:
    """Return what the next attempt of a run would do. A run that `resume` refuses does nothing.

    Raises:
        UsageError: There is no such run.
    """
    opened = open_resumable_run(run, runs)
    effects = _effects_of_next_attempt(opened)
    return structs.replace(effects, accepts=[*map(str, opened.state().refused_changes)]) if accept_changes else effects


def _effects_of_next_attempt(opened: Run) -> RunEffects:
    state, request = opened.state(), load_request(opened.folder)
    if state.stage is RunStage.SUCCEEDED or state.refused_by or request is None:
        return NOTHING
    if not has_plan(opened.folder):
        target = str(Path(request.cwd, request.target))
        return effects_of_run(target, set=request.sets, arguments=request.arguments)
    plan = load_plan(opened.folder)
    limits = SpendingLimits(
        hardware=plan.hardware,
        timeout_s=plan.timeout_s,
        grows=LARGER in (plan.job or {}).get("recover", {}).get("allow", ()),
    )
    return _with_most_usd(_effects_of_plan(plan, state, opened.name, request.target), limits, plan.usd_per_hour)


def _effects_of_plan(plan: Plan, state: RunState, name: str, target: str) -> RunEffects:
    folder = Path(target).parent
    if state.about.method:  # the script of a job pushes as its job file says
        pushes = (state.about.pushed,) if state.about.pushed else ()
        digest = _digest([plan.script, *pushes], folder)
        costs = _costs(plan.backend)
        return RunEffects(pushes=pushes, backend=plan.backend if costs else "", costs=costs, digest=digest)
    read = read_target(target, arguments=plan.arguments, text=plan.script)
    return _effects(read, plan.backend, folder, [plan.script, name, *plan.arguments])


def _effects(read: Target, backend: str, folder: Path, words: Iterable[str]) -> RunEffects:
    sources = [*_sources(read, folder)]
    named = sorted({name for document in read.documents for name in pushed_to(document)})
    hidden = [UNNAMED] if not named and any(map(may_push, sources)) else []
    submits = any(map(may_submit, sources))
    return RunEffects(
        pushes=[*named, *hidden],
        backend=backend if _costs(backend) else "",
        costs=_costs(backend) or submits,
        digest=_digest([*words, backend], folder),
        submits=submits,
    )


def _with_most_usd(effects: RunEffects, limits: SpendingLimits, usd_per_hour: Mapping[str, float]) -> RunEffects:
    """Return what a run does with the most that its machines cost, unless its source may start others."""
    if effects.submits or not effects.backend or not capabilities_of(effects.backend).has_flavors:
        return effects
    return structs.replace(effects, most_usd=most_usd(limits, planned_prices(usd_per_hour)))


def _costs(backend: str) -> bool:
    return bool(backend) and not capabilities_of(backend).is_here


def pushed_to(document: Document) -> Iterator[str]:
    """Yield the repositories that a job names to push to."""
    return (each.name for each in references(document) if each.role in WRITES)


def _sources(read: Target, folder: Path) -> Iterator[str]:
    """Yield the sources that run: of a job, its own files; of a script, itself and the modules beside it."""
    if read.job:
        yield from read_referred(referred_files(read.job), read.document.path).values()
        return
    source, script = read.document.text, folder / Path(read.document.path).name
    yield source
    yield from map(read_foreign_text, own_modules(source, script))


def _digest(words: Iterable[str], folder: Path) -> str:
    """Return a hash of what decides what a run does: its words, and the files of sources and settings beside it."""
    found = hashlib.sha256(json.dumps([*words]).encode())
    for path in _settings_files(folder):
        found.update(f"{path.relative_to(folder)}\0".encode(errors="replace"))
        with suppress(OSError):  # what cannot be read here, the job cannot read either
            found.update(read_foreign(path))
    return found.hexdigest()


def _settings_files(folder: Path) -> Iterator[Path]:
    """Return the files of sources and settings in and under a folder, at most MOST_FILES, from at most MOST_FOLDERS folders."""
    return islice(_walk_settings(folder), MOST_FILES)


def _walk_settings(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    for _ in range(MOST_FOLDERS):
        if not waiting:
            return
        for path in _entries(waiting.pop()):
            if _is_source_folder(path):
                waiting.append(path)
            elif _is_setting(path):
                yield path


def _is_source_folder(path: Path) -> bool:
    """True of a folder that is neither a runs folder nor made by a package manager."""
    return is_folder(path) and not is_there(path / "ledger.sqlite") and path.name != "node_modules"


def _is_setting(path: Path) -> bool:
    with suppress(OSError):
        return path.suffix in SETTINGS and path.is_file() and path.stat().st_size <= MOST_BYTES
    return False


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder: no links, nothing that is hidden or made by Python, and nothing of a folder that may not be read."""
    with suppress(OSError), os.scandir(folder) as entries:
        own = (each for each in entries if not each.name.startswith((".", "__pycache__")) and not each.is_symlink())
        return sorted(Path(each.path) for each in own)
    return []
