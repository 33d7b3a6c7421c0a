"""Rows that are kept: prepared as the job's training would prepare them, and reused if nothing has changed."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Literal

from holdfast.adapters import hub
from holdfast.adapters.environment.interpreters import select_interpreter
from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.prepared_rows import changed_files, read_record, write_rows
from holdfast.adapters.storage.file_digests import digest_path
from holdfast.adapters.targets import Target, read_referred, read_target
from holdfast.app.targets.local_inputs import own_modules
from holdfast.catalog.builtin import BUILTIN
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.document import Document, Set
from holdfast.core.job_file.job import Job
from holdfast.core.job_file.secret_references import separate_secrets
from holdfast.core.text.json_text import render_canonical
from holdfast.core.text.places import Place
from holdfast.engine.run.naming import name_job
from holdfast.engine.script.carried_files import map_function
from holdfast.engine.script.render import referred_files, render_rows_script

RENDERED = "prepare_rows.py"
Saved = Literal["written", "kept"]
"""What became of rows that are kept: empty if none are."""


def save_rows(
    job_file: str, sets: tuple[str, ...], folder: Path, *, jsonl: bool, offline: bool
) -> tuple[Document, Saved]:
    """Prepare the rows of a job, or keep those that are there; return the request that looks at them, and which of both was done.

    Args:
        job_file: The job file.
        sets: Its overrides.
        folder: Where the rows are kept.
        jsonl: As JSON Lines instead of Parquet.
        offline: Don't contact the Hub.

    Raises:
        UsageError: It is not a job file, or the rows cannot be prepared.
    """
    target = read_target(job_file, sets)
    if target.job is None:
        fix = "name a job file: its `dataset` says what is prepared"
        raise UsageError(f"{job_file} is not a job file", where="--save", fix=fix)
    job, secrets = separate_secrets(target.job)
    sources = read_referred(referred_files(job), target.document.path)
    script = render_rows_script(job, name=name_job(job, job_file), sources=sources)
    key = _content_key(target, job, script, [str(jsonl)], offline=offline)
    kept = _is_kept(folder, key)
    if not kept:
        words = select_interpreter(RENDERED, script, {"python": str(job.where.options.get("python", ""))})
        options = ["--key", key, *(["--jsonl"] if jsonl else [])]
        write_rows(words, script, folder, options, {**secrets, **({"HF_HUB_OFFLINE": "1"} if offline else {})})
    data = {"path": str(folder), "split": "train", **({"eval_split": "test"} if job.evaluates else {})}
    return target.document.with_values([Set("dataset", data)], Place("--save")), "kept" if kept else "written"


def _is_kept(folder: Path, key: str) -> bool:
    """True if a folder has the rows of this content, as they were written."""
    record = read_record(folder) if key else None
    return record is not None and record.key == key and not changed_files(folder, record)


def _content_key(target: Target, job: Job, script: str, options: list[str], *, offline: bool) -> str:
    """Return a hash of all that decides the rows; empty if something of it is not known."""
    function = map_function(job)
    if function and not function.is_carried:
        return ""  # a module may be anywhere, and import anything
    try:
        sources = [*_source_versions(job, offline=offline), *_module_digests(target, job)]
    except (OSError, SourceError):
        return ""
    return sha256(render_canonical([script, sources, options]).encode()).hexdigest()


def _source_versions(job: Job, *, offline: bool) -> Iterator[str]:
    """Yield the content of each dataset: a digest of files that are here, the commit of a repository.

    Raises:
        SourceError: The Hub was not contacted, or does not answer.
        OSError: A file cannot be read.
    """
    for name, config in [
        (job.dataset.path, job.dataset.config),
        *((each.path, each.config) for each in job.dataset.mix),
    ]:
        if name.startswith(BUILTIN):
            continue  # it is made by the script
        if is_there(expanded(name)):
            yield digest_path(expanded(name), whole=True)
            continue
        if offline:
            raise SourceError("the Hub was not asked", where=name, fix="leave out --offline")
        repo = hub.open_hub().repo(
            Reference(role="dataset", name=name, key="dataset.path", repo_kind="dataset", config=config)
        )
        if not repo.commit:
            raise SourceError("its commit is not known", where=name, fix="look at its name")
        yield repo.commit


def _module_digests(target: Target, job: Job) -> Iterator[str]:
    """Yield a digest of each module of the current folder that the function's file imports."""
    function = map_function(job)
    if function:
        text = read_referred((function.module,), target.document.path)[function.module]
        yield from (digest_path(path) for path in own_modules(text, Path.cwd() / Path(function.module).name))
