"""The verb `export`: a model as it is used elsewhere, with the proof that it is the same."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from holdfast.adapters.export.output_folder import refuse_taken
from holdfast.app.arguments import PathName, Texts, as_path, as_texts
from holdfast.app.export.exporting import ExportRequest, run_export
from holdfast.app.export.finding import ExportSource, find_source
from holdfast.core.errors import UsageError
from holdfast.core.nearest import nearest
from holdfast.results.export import ExportResult

DTYPES: Final = ("bfloat16", "float16", "float32")
FOLDER: Final = "export"
NEEDED: Final = ("torch", "transformers", "peft")


def export(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    model: PathName,
    *,
    out: PathName | None = None,
    base: PathName | None = None,
    adapter: Texts = (),
    dtype: str | None = None,
    shard_size: str = "5GB",
    runs: PathName | None = None,
    offline: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> ExportResult:
    """Export a model: merge adapters into their base, and prove that the result is the same model.

    >>> import holdfast
    >>> answer = holdfast.export("runs/quickstart-20261121-154501-x7", out="merged")  # doctest: +SKIP
    >>> [check["verdict"] for file in answer["files"] for check in file["checks"]]  # doctest: +SKIP
    ['pass', 'pass']

    Args:
        model: A folder, a run, or the id of a Hub model; of an adapter, its base is found.
        out: The folder to make. Default: `export` in a run's folder, else `./export/NAME`.
        base: The base to merge into. Default: the one that the adapter names.
        adapter: Further adapters of the same base, which are merged too.
        dtype: The dtype of the weights: bfloat16, float16 or float32. Default: that of the base.
        shard_size: The largest file of weights.
        runs: The runs folder.
        offline: Don't contact the Hub.
        on_progress: Is told what happens.

    Raises:
        UsageError: The model cannot be exported, or something is missing.
        SourceError: The model cannot be loaded, or the disk is full.
    """
    want_libraries()
    if dtype is not None and dtype not in DTYPES:
        near = nearest(dtype, DTYPES)
        fix = f"there is {near}" if near else f"there is {', '.join(DTYPES)}"
        raise UsageError(f"no dtype is called {dtype!r}", where="--dtype", fix=fix)
    source = find_source(as_path(model), base=base, more=as_texts(adapter), runs=runs, offline=offline)
    folder = Path(as_path(out)) if out is not None else _default_folder(source)
    refuse_taken(folder)
    request = ExportRequest(source=source, out=folder, dtype=dtype, shard_size=shard_size, offline=offline)
    return run_export(request, on_progress)


def want_libraries() -> None:
    """Look whether everything is installed that an export needs.

    Raises:
        UsageError: Something is not.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        what = f"an export needs {', '.join(missing)}"
        raise UsageError(what, where="this environment", fix="pip install 'holdfast[export]'")


def _default_folder(source: ExportSource) -> Path:
    if source.found.is_run:
        return Path(source.found.source.adapter or source.found.source.path).parent / FOLDER
    return Path(FOLDER) / Path(source.name).name
