"""What a run does beyond this machine: what an agent has to ask a person about before it starts one."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.storage.run_folder import has_plan, load_plan
from holdfast.adapters.targets import Target, read_target
from holdfast.app.arguments import Overrides, PathName, Texts, as_overrides, as_path, as_texts
from holdfast.app.rendering import script_of
from holdfast.app.run.runs import open_run
from holdfast.core.backends import backend_of, capabilities_of
from holdfast.core.document import Document
from holdfast.engine.references import WRITES, references
from holdfast.engine.references.calls import may_push
from holdfast.results.run import RunEffects

UNNAMED = "a repository that the source does not name"


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
    read = read_target(as_path(target), overrides, words)
    return _effects(read, read.job.where.backend if read.job else backend_of(read.document).name, [*overrides, *words])


def effects_of_resume(run: PathName, *, runs: PathName | None = None) -> RunEffects:
    """Return what the next attempt of a run would do; one that has no plan yet is asked for anew.

    Raises:
        UsageError: There is no such run.
    """
    opened = open_run(run, runs)
    about = opened.state().about
    if not has_plan(opened.folder):
        return effects_of_run(str(about.get("target") or opened.folder))
    plan = load_plan(opened.folder)
    read = read_target(plan.script_name, arguments=plan.arguments, text=plan.script)
    return _effects(read, plan.backend, [opened.name, *plan.arguments])


def _effects(read: Target, backend: str, words: Sequence[str]) -> RunEffects:
    sources = [script_of(read), *_modules(read)]
    return RunEffects(
        pushes=sorted({name for document in read.documents for name in pushed_to(document)}),
        backend=backend,
        costs=bool(backend) and not capabilities_of(backend).is_here,
        digest=hashlib.sha256(json.dumps([sources, backend, *words]).encode()).hexdigest(),
    )


def pushed_to(document: Document) -> Iterator[str]:
    """Yield the repositories that a job may push to."""
    named = [each.name for each in references(document) if each.role in WRITES]
    yield from named
    if not named and may_push(document):
        yield UNNAMED


def _modules(read: Target) -> Iterator[str]:
    """Yield the text of each module beside a script that it imports."""
    for name in sorted(read.modules):
        path = Path(read.document.path).parent / Path(*name.split(".")).with_suffix(".py")
        if path.is_file():
            yield read_foreign_text(path)
