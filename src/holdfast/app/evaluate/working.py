"""What models give for the rows of datasets: kept outputs where there are any, and a process for the rest."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from msgspec import DecodeError, ValidationError, json

from holdfast.adapters.evaluation.process import DatasetWork, WorkEvent, WorkFailure, do_work
from holdfast.adapters.evaluation.store import EvaluationStore, OutputFile, work_lines
from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.storage.run_folder import write_whole
from holdfast.app.evaluate.asking import EvaluationOptions
from holdfast.app.models.found_model import FoundModel
from holdfast.core.evaluation import Example, ModelOutput, WorkKind

LIBRARIES: Final = ("torch", "transformers")
"""What outputs depend on beside the weights."""
RUNTIME: Final = "llama-cpp-python"
"""What those of GGUF files depend on, too."""
HARNESS: Final = "lm-eval"
"""What responses to it depend on, too."""


@dataclass(frozen=True, slots=True)
class RowsForModel:
    """Rows that a model is to do something for.

    Attributes:
        key: Their name in messages.
        kind: What is to be done.
        examples: The rows.
    """

    key: str
    kind: WorkKind
    examples: Sequence[Example]


@dataclass(slots=True)
class ModelOutputs:
    """What a model gave.

    Attributes:
        outputs: For each key the outputs of its rows, in their order; absent if it failed.
        failed: Why the others failed.
        reused: For each key, how many rows had outputs from an earlier evaluation.
        loaded: How the model was loaded; None if it is not known any more.
        batch_sizes: The batch sizes to which keys had to be reduced.
    """

    outputs: dict[str, list[ModelOutput]] = field(default_factory=dict[str, list[ModelOutput]])
    failed: Mapping[str, WorkFailure] = field(default_factory=dict[str, WorkFailure])
    reused: dict[str, int] = field(default_factory=dict[str, int])
    loaded: WorkEvent | None = None
    batch_sizes: Mapping[str, int] = field(default_factory=dict[str, int])


def outputs_of(
    model: FoundModel,
    wanted: Sequence[RowsForModel],
    store: EvaluationStore,
    options: EvaluationOptions,
    on_progress: Callable[[str], None],
) -> ModelOutputs:
    """Return the outputs of a model for rows. Only what no earlier evaluation has is done.

    Raises:
        SourceError: The model cannot be loaded.
        LedgerError: The rows cannot be written.
    """
    identities = _identities(model, {each.kind for each in wanted})
    files = {each.key: _output_file(model, identities[each.kind], each, store, options) for each in wanted}
    outputs = ModelOutputs(reused={key: file.done for key, file in files.items()})
    work = [_left_to_do(each, file, options) for each in wanted if (file := files[each.key]).done < file.rows]
    if work:
        on_progress(f"loading {model.name}")
        report = do_work(model.source, work, on_progress, offline=options.offline)
        outputs.failed, outputs.loaded, outputs.batch_sizes = report.failed, report.loaded, report.batch_sizes
        _keep(files, report.loaded)
    for each in wanted:
        if each.key not in outputs.failed:
            _add_rows(outputs, each, files[each.key])
    return outputs


def _add_rows(outputs: ModelOutputs, wanted: RowsForModel, file: OutputFile) -> None:
    """Add the outputs of rows from their file; and how the model was loaded, if no work was to do."""
    of_rows = file.read()
    outputs.outputs[wanted.key] = [of_rows[example.row] for example in wanted.examples]
    outputs.loaded = outputs.loaded or _kept(file.path)


def _identities(model: FoundModel, kinds: AbstractSet[WorkKind]) -> Mapping[WorkKind, str]:
    """Return for each kind of work what outputs depend on beside the rows: the weights, and the versions of the libraries."""
    libraries = (*LIBRARIES, RUNTIME) if model.source.is_gguf else LIBRARIES
    shared = " ".join([model.identity, *map(_pinned, libraries)])
    return {kind: f"{shared} {_pinned(HARNESS)}" if kind == "respond" else shared for kind in kinds}


def _pinned(library: str) -> str:
    return f"{library}=={version(library)}"


def _output_file(
    model: FoundModel, identity: str, wanted: RowsForModel, store: EvaluationStore, options: EvaluationOptions
) -> OutputFile:
    """Return the file with a model's outputs for rows."""
    lines = work_lines(wanted.kind, wanted.examples)
    return store.output_file(model.source, identity, wanted.kind, lines, options.generation)


def _left_to_do(wanted: RowsForModel, file: OutputFile, options: EvaluationOptions) -> DatasetWork:
    return DatasetWork(
        name=wanted.key,
        kind=wanted.kind,
        rows=str(file.path.with_suffix(".rows")),
        out=str(file.path),
        batch_size=options.batch_size,
        generation=options.generation,
    )


def with_template_of(base: FoundModel, model: FoundModel) -> FoundModel:
    """Return a base model that reads messages as the model does, if it has no chat template itself."""
    if base.template is not None or model.template is None:
        return base
    return replace(base, template=model.template, source=replace(base.source, template=model.template))


def _keep(files: Mapping[str, OutputFile], loaded: WorkEvent | None) -> None:
    """Write down beside outputs how their model was loaded."""
    for file in files.values() if loaded else ():
        write_whole(_beside(file.path), json.encode(loaded).decode())


def _kept(path: Path) -> WorkEvent | None:
    try:
        return json.decode(read_foreign(_beside(path)), type=WorkEvent)
    except (OSError, DecodeError, ValidationError):
        return None


def _beside(path: Path) -> Path:
    return path.with_suffix(".model")
