"""What goes along with an export: the model card, and the file for Ollama."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from msgspec import DecodeError, ValidationError, convert, json

from holdfast.adapters.foreign_files import expanded, read_foreign, read_foreign_text
from holdfast.adapters.hub.cached import cached_folder
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.secrets import redacted
from holdfast.adapters.storage.resolved import RESOLVED_JOB_FILE
from holdfast.adapters.storage.run_folder import load_request
from holdfast.adapters.yaml.render import render_lines
from holdfast.app.export.steps import ExportRequest
from holdfast.app.models.found_model import FoundModel
from holdfast.catalog.builtin import BUILTIN
from holdfast.core.export import ReferenceAnswer
from holdfast.engine.export.model_card import CardFacts, render_card
from holdfast.engine.export.modelfile import render_modelfile
from holdfast.engine.export.public_paths import PublicPaths
from holdfast.engine.report.rows import describe_rows
from holdfast.results.evaluate import EvaluateResult
from holdfast.results.export import ExportedFile

CARD: Final = "README.md"
MODELFILE: Final = "Modelfile"
LICENCE: Final = re.compile(r"\A---\n(?:.*\n)*?license: *([\w.-]+)")
CHECKPOINT: Final = re.compile(r"checkpoint-\d+")
METHOD: Final = re.compile(r"^method: *(\w+)", re.MULTILINE)


def write_card(request: ExportRequest, files: list[ExportedFile], versions: dict[str, str], draft: Path) -> None:
    """Write the model card into the draft of the folder."""
    source = request.source
    run = source.found.run
    paths = _public_paths(run)
    settings = redacted(_settings(run, paths)) if run else ""
    base = source.found.base or source.base or ""
    dataset = source.found.trained_on or ""
    account = _read_account(run) if run else {}
    facts = CardFacts(
        name=Path(source.name).name,
        base=paths.render(base),
        hub_base=_hub_name(base, paths.folder),
        method=_method(settings),
        dataset=paths.render(dataset),
        rows=describe_rows(paths.render_all(account)) if account else "",
        rows_digest=str(account.get("sha256", "")),
        settings=settings,
        base_licence=_licence(base),
        data_licence=_licence(dataset),
        evaluations=tuple(_evaluations(source.found, paths)),
        files=files,
        versions=versions,
        command=command_of(request),
    )
    (draft / CARD).write_text(render_card(facts), encoding="utf-8")


def _public_paths(run: Path | None) -> PublicPaths:
    """Return how paths are shown in the card of a run's model: as they are in the folder of its job file."""
    request = load_request(run) if run else None
    return PublicPaths(str(Path(request.target).parent) if request else "")


def _hub_name(base: str, folder: str) -> str:
    """Return a model's name on the Hub; empty if it is that of a folder, here or beside the job file."""
    is_here = base.startswith((".", BUILTIN)) or expanded(base).is_absolute()
    return "" if is_here or Path(base).exists() or Path(folder, base).exists() else base


def _settings(run: Path, paths: PublicPaths) -> str:
    """Return the job file of a run with all settings, as others may read it; empty if there is none that can be read."""
    try:
        job = JobFileReader().read(_read(run / RESOLVED_JOB_FILE), RESOLVED_JOB_FILE)
    except ExceptionGroup:
        return ""
    comments = takewhile(lambda line: line.startswith("#"), (job.text or "").splitlines())
    kept = [line for line in comments if not line.endswith("from any folder.")]
    return "\n".join([*kept, *render_lines(paths.render_all(job.values))])


def _method(settings: str) -> str:
    """Return the training method in the text of a job file; empty if it names none."""
    method = METHOD.search(settings)
    return method[1] if method else ""


def write_modelfile(files: list[ExportedFile], original: ReferenceAnswer, draft: Path) -> bool:
    """Write the file for Ollama beside the smallest GGUF file; False if there is none."""
    made = [file for file in files if file.format == "gguf" and file.path]
    if not made:
        return False
    smallest = min(made, key=lambda file: file.bytes)
    (draft / MODELFILE).write_text(render_modelfile(Path(smallest.path).name, original), encoding="utf-8")
    return True


def command_of(request: ExportRequest) -> str:
    """Return the command that makes the same again."""
    source = request.source
    words = ["holdfast", "export", _shown_name(source.name)]
    words += ["--base", _shown_name(source.base or "")] if source.base_chosen else []
    words += [word for each in source.adapters[1:] for word in ("--adapter", _shown_name(each))]
    words += ["--dtype", request.dtype] if request.dtype else []
    words += ["--gguf", ",".join(request.gguf)] if request.gguf else []
    return shlex.join(words)


def _shown_name(name: str) -> str:
    """Return a name as others may read it: without the folders of this machine."""
    return Path(name).name if Path(name).is_absolute() else name


def _evaluations(model: FoundModel, paths: PublicPaths) -> Iterator[EvaluateResult]:
    """Yield the evaluations of a run's final model that can be read, the newest first; not those of its checkpoints."""
    if model.run is None or not model.is_final:
        return
    for path in sorted((model.run / "results").glob("evaluation-*.json"), reverse=True):
        with suppress(OSError, DecodeError, ValidationError):
            found = convert(paths.render_all(json.decode(read_foreign(path))), EvaluateResult)
            if not CHECKPOINT.fullmatch(Path(found.model).name):
                yield found


def _read_account(run: Path) -> dict[str, Any]:
    """Return what the script of a run has written about its rows; nothing if there is nothing that can be read."""
    try:
        return json.decode(read_foreign(run / "results" / "data.json"), type=dict[str, Any])
    except (OSError, DecodeError, ValidationError):
        return {}


def _licence(name: str) -> str:
    """Return the licence that the card of a model or dataset on this machine names; empty if it is not known."""
    if not name:
        return ""
    here = expanded(name) if expanded(name).is_dir() else cached_folder(name)
    found = LICENCE.match(_read(here / CARD)) if here else None
    return found[1] if found else ""


def _read(path: Path) -> str:
    try:
        return read_foreign_text(path)
    except OSError:
        return ""
