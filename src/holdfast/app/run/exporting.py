"""The export of a run's final model, when training has ended: what `holdfast export` does, as the job file says."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.environment.host_name import is_other_machine
from holdfast.adapters.export.process import StageProcess
from holdfast.adapters.secrets import redacted_parts
from holdfast.adapters.storage.run_folder import write_whole
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.app.export.exporting import run_export
from holdfast.app.export.finding import find_source
from holdfast.app.export.gguf import prepare_gguf
from holdfast.app.export.steps import Export, ExportRequest
from holdfast.app.export.verb import want_libraries
from holdfast.core.errors import HoldfastError, UsageError, flatten
from holdfast.core.run.event import ModelExported
from holdfast.core.run.plan import Plan
from holdfast.results import to_json
from holdfast.results.export import ExportedFile, ExportResult

FOLDER: Final = "export"
RESULT: Final = "results/export.json"


def export_final(folder: Path, plan: Plan, heed: Callable[[], None], say: Callable[[str], None]) -> ModelExported:
    """Make the GGUF files of the final model of a run, unless another machine makes them; if this fails, the model is kept.

    Args:
        folder: The run's folder.
        plan: The run's plan, which says which files are made, and where.
        heed: Called again and again; it raises if the person wants it to end.
        say: Receives each line of progress.
    """
    if is_other_machine(plan.export_on):
        because = f"this is not {plan.export_on}; `holdfast resume {folder.name}` makes the files there"
        return ModelExported(at_s=SystemClock().now_s(), verdict="skipped", because=because)
    try:
        result = _export(folder, plan.gguf, heed, say)
        write_whole(folder / RESULT, json.dumps(redacted_parts(to_json(result))))
    except HoldfastError as error:
        because = "; ".join(f"{each.what}; {each.fix}" for each in flatten(error))
        return ModelExported(at_s=SystemClock().now_s(), verdict="fail", because=because)
    return ModelExported(
        at_s=SystemClock().now_s(),
        verdict=result.verdict,
        because="; ".join(_failures(result.files)),
        folder=result.output,
        files=tuple(each.path for each in result.files if each.format == "gguf" and each.path),
    )


def _export(
    folder: Path, quantizations: Sequence[str], heed: Callable[[], None], say: Callable[[str], None]
) -> ExportResult:
    """Export the final model, beside what an export that failed has left.

    Raises:
        HoldfastError: It cannot be exported.
    """
    if not (folder / "model").is_dir():
        what = f"the final model is not on this machine: there is no {folder / 'model'}"
        raise UsageError(what, where=str(folder), fix=f"`holdfast resume {folder.name}` once it is there")
    want_libraries()
    request = ExportRequest(
        source=find_source(str(folder), base=None, more=(), runs=folder.parent, offline=False),
        out=_free_folder(folder),
        gguf=tuple(quantizations),
    )
    return run_export(request, say, heed)


def _free_folder(folder: Path) -> Path:
    """Return the folder of the export: one that has nothing in it yet, since nothing is overwritten."""
    names = (FOLDER, *(f"{FOLDER}-{number}" for number in range(2, 1000)))
    return next(folder / each for each in names if not (folder / each).exists())


def _failures(files: Sequence[ExportedFile]) -> Iterator[str]:
    for file in files:
        for check in file.checks:
            if check.verdict == "fail":
                yield f"{file.quantization or file.format}: {check.name}: {check.because}"


def look_at_export(base: str, quantizations: Sequence[str], out: str, *, classifies: bool, offline: bool) -> list[str]:
    """Look before training at all that an export after it needs; return what is worth knowing of its files.

    Args:
        base: The model that is trained.
        quantizations: The files that are made.
        out: The runs folder.
        classifies: Whether training gives the model a head that classifies.
        offline: Don't contact the Hub.

    Raises:
        UsageError: The files cannot be made; one error for each reason.
        SourceError: The tokenizer cannot be loaded.
    """
    want_libraries()
    source = find_source(base, base=None, more=(), runs=None, offline=offline)
    if classifies:
        source = source.as_classifier()
    request = ExportRequest(source=source, out=Path(out), gguf=tuple(quantizations), offline=offline)
    with scratch_folder("holdfast-export-") as scratch, StageProcess(offline=offline) as process:
        export = Export(request, process, lambda _: None)
        prepare_gguf(export, Path(scratch))
    return export.notes
