"""The verb `export`: a model as it is used elsewhere, with the proof that it is the same."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from holdfast.adapters.export.output_folder import refuse_taken
from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.hub import open_hub
from holdfast.app.arguments import PathName, Texts, as_path, as_texts
from holdfast.app.export.exporting import run_export
from holdfast.app.export.finding import ExportSource, find_source
from holdfast.app.export.steps import SHARD_SIZE, ExportRequest
from holdfast.app.extras import require_extra
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.text.nearest import nearest
from holdfast.engine.export.quantizations import QUANTIZATIONS
from holdfast.results.export import ExportResult

DTYPES: Final = ("bfloat16", "float16", "float32")
FOLDER: Final = "export"
SHORTEST: Final = 2000
"""Characters of a sample."""
NEEDED: Final = ("torch", "transformers", "peft")


def export(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    model: PathName,
    *,
    out: PathName | None = None,
    base: PathName | None = None,
    adapter: Texts = (),
    dtype: str | None = None,
    shard_size: str = SHARD_SIZE,
    gguf: Texts = (),
    sample: PathName | None = None,
    max_loss: float | None = None,
    push: str | None = None,
    public: bool = False,
    runs: PathName | None = None,
    offline: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> ExportResult:
    """Export a model: merge, convert to GGUF, and verify the result.

    >>> import holdfast
    >>> answer = holdfast.export("runs/quickstart-20261121-154501-x7", out="merged")  # doctest: +SKIP
    >>> [check["verdict"] for file in answer["files"] for check in file["checks"]]  # doctest: +SKIP
    ['pass', 'pass']

    Args:
        model: A folder, a run, or the id of a Hub model. For an adapter, holdfast finds the base.
        out: The folder to make. Default: `export` in a run's folder, else `./export/NAME`.
        base: The base to merge into. Default: the one that the adapter names.
        adapter: More adapters of the same base to merge.
        dtype: The dtype of the weights: bfloat16, float16 or float32. Default: that of the base.
        shard_size: The largest size of a weights file.
        gguf: Quantizations of GGUF files to make: f16, q8_0, q6_k, q5_k_m, q4_k_m, q4_k_s, q3_k_m, q2_k.
        sample: A text file to measure the perplexity on. Default: Python's documentation.
        max_loss: Largest rise of the perplexity through a quantization, in percent. Default: five times what is usual.
        push: A repository of the Hub to push the folder to.
        public: Make the repository public, if it is new.
        runs: The runs folder.
        offline: Don't contact the Hub.
        on_progress: Receives each line of progress.

    Raises:
        UsageError: The model cannot be exported, or something is missing.
        SourceError: The model cannot be loaded, or the disk is full.
    """
    want_libraries()
    quantizations = _quantizations(as_texts(gguf))
    if dtype is not None:
        _refuse_unknown(dtype, DTYPES, "dtype", "--dtype")
    source = find_source(as_path(model), base=base, more=as_texts(adapter), runs=runs, offline=offline)
    folder = Path(as_path(out)) if out is not None else _default_folder(source)
    refuse_taken(folder)
    if push:
        _refuse_closed(push, offline=offline)
    request = ExportRequest(
        source=source,
        out=folder,
        dtype=dtype,
        shard_size=shard_size,
        gguf=quantizations,
        sample=_read_sample(sample),
        max_loss=None if max_loss is None else max_loss / 100,
        push=push or "",
        private=not public,
        offline=offline,
    )
    return run_export(request, on_progress)


def _quantizations(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the quantizations that are named, each once; a text may name several.

    Raises:
        UsageError: There is no such quantization.
    """
    names = tuple(dict.fromkeys(" ".join(texts).lower().replace(",", " ").split()))
    for each in names:
        _refuse_unknown(each, tuple(QUANTIZATIONS), "quantization", "--gguf")
    return names


def _refuse_closed(push: str, *, offline: bool) -> None:
    """Look whether the repository can be written, before anything is done for it."""
    if offline:
        raise UsageError(
            "--push needs the Hub, and --offline forbids to ask it", where="--push", fix="leave out one of them"
        )
    try:
        target = open_hub().target(Reference(role="target", name=push, key="--push"))
    except SourceError as error:
        what = f"whether {push} can be written is not known: {error.what}"
        raise UsageError(what, where="--push", fix=error.fix) from error
    if target.writable == "no":
        raise UsageError(
            f"{push} cannot be written: {target.because}",
            where="--push",
            fix="`hf auth login` with a token that may write there",
        )


def _refuse_unknown(name: str, known: tuple[str, ...], what: str, option: str) -> None:
    if name not in known:
        near = nearest(name, known)
        fix = f"there is {near}" if near else f"there is {', '.join(known)}"
        raise UsageError(f"no {what} is called {name!r}", where=option, fix=fix)


def _read_sample(sample: PathName | None) -> str:
    """Return the text of the sample; empty if there is none."""
    if sample is None:
        return ""
    try:
        text = read_foreign_text(Path(as_path(sample)))
    except OSError as error:
        what = f"the sample {sample} cannot be read: {error.strerror}"
        raise UsageError(what, where="--sample", fix="name a text file") from error
    if len(text) < SHORTEST:
        what = f"the sample has {len(text):,} characters: too few for a perplexity"
        raise UsageError(what, where="--sample", fix=f"take at least {SHORTEST:,}")
    return text


def want_libraries() -> None:
    """Look whether everything is installed that an export needs.

    Raises:
        UsageError: Something is not.
    """
    require_extra("export", NEEDED, "an export")


def _default_folder(source: ExportSource) -> Path:
    run, name = source.found.run, Path(source.name).name
    if run is None:
        return Path(FOLDER) / name
    return run / (FOLDER if source.found.is_final else f"{FOLDER}-{name}")
