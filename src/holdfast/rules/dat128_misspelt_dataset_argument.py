"""Misspelt argument of `load_dataset`.

## What it does
Checks the arguments of `load_dataset` against its own and, where it reads CSV, JSON, Parquet or text, against those
of that reader: `data_file`, `spilt`, `delimeter`. Reports only names that nearly match another: any other name may
belong to a script of the dataset.

## Why is this bad
`load_dataset` passes unknown arguments on to the reader's configuration: TypeError, "CsvConfig.__init__() got an
unexpected keyword argument 'data_file'".

## Fix safety
The fix is unsafe because the nearest name is a guess.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Rename
from holdfast.core.text.nearest import nearest

OWN: Final = frozenset(
    {"cache_dir", "config_kwargs", "data_dir", "data_files", "download_config", "download_mode", "features", "field"}
    | {"ignore_verifications", "keep_in_memory", "name", "num_proc", "path", "revision", "save_infos", "split"}
    | {"storage_options", "streaming", "task", "token", "trust_remote_code", "use_auth_token", "verification_mode"}
)
OF_READERS: Final[Mapping[str, frozenset[str]]] = {
    "csv": frozenset(
        {"chunksize", "column_names", "comment", "converters", "date_format", "decimal", "delimiter", "dialect"}
        | {"doublequote", "encoding", "encoding_errors", "engine", "error_bad_lines", "escapechar", "false_values"}
        | {"float_precision", "header", "index_col", "keep_default_na", "lineterminator", "mangle_dupe_cols"}
        | {"memory_map", "na_filter", "na_values", "names", "nrows", "on_bad_lines", "prefix", "quotechar", "quoting"}
        | {"sep", "skip_blank_lines", "skipfooter", "skipinitialspace", "skiprows", "thousands", "true_values"}
        | {"usecols", "verbose", "warn_bad_lines"}
    ),
    "json": frozenset(
        {"block_size", "chunksize", "encoding", "encoding_errors", "newlines_in_values", "on_mixed_types"}
        | {"parse_agent_traces", "use_threads"}
    ),
    "parquet": frozenset({"batch_size", "columns", "filters", "fragment_scan_options", "on_bad_files"}),
    "text": frozenset({"chunksize", "encoding", "encoding_errors", "keep_linebreaks", "sample_by"}),
}
NEAR: Final = 0.75
"""The least likeness of two names of which one is a misspelling of the other."""


def check(job: Document) -> Iterator[Finding]:
    """Report each argument whose name is almost that of another."""
    for call in job.calls:
        if call.path == "datasets.load_dataset" and _may_be_misspelt(call):
            names = _names(call)
            for name in call.arguments:
                if meant := _meant(name, call, names):
                    key = f"{call.key}.{name}"
                    fix = Fix(f"rename `{name}` to `{meant}`", (Rename(key, meant),), safe=False)
                    yield Finding(key, f"`load_dataset` takes no `{name}`: did you mean `{meant}`?", fix)


def _may_be_misspelt(call: Call) -> bool:
    """True if an unknown argument would end the program, and no script of the dataset takes it."""
    handled = call.guard.tolerates("TypeError") or "trust_remote_code" in call.arguments
    return not handled and not OWN.issuperset(call.arguments)


def _names(call: Call) -> frozenset[str]:
    """Return the arguments of `load_dataset` and of the reader that it uses."""
    reader = call.arguments.get("path", next(iter(call.positional), None))
    return OWN | OF_READERS.get(reader if isinstance(reader, str) else "", frozenset())


def _meant(name: str, call: Call, names: frozenset[str]) -> str | None:
    return None if name in names else nearest(name, names.difference(call.arguments), cutoff=NEAR)


SCRIPT = """
from datasets import load_dataset

rows = load_dataset("csv", data_files="rows.csv", delimiter=";", split="train")
"""

RULE = Rule(
    code="DAT128",
    name="misspelt-dataset-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, tried: `data_file`, `delimeter`, `fieldd`, `spilt` and `streming` with its readers of CSV, JSON, text and Parquet raise "
        "TypeError. The readers' arguments are those of their configurations there; `ignore_verifications`, `task` and `use_auth_token` are older."
    ),
    bad=(
        Case(script=SCRIPT.replace("data_files", "data_file"), at="calls.0.data_file", fixed=SCRIPT),
        Case(script=SCRIPT.replace("split=", "spilt="), at="calls.0.spilt", fixed=SCRIPT),
        Case(script=SCRIPT.replace("delimiter", "delimeter"), at="calls.0.delimeter", fixed=SCRIPT),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("delimiter", "sep")),
        Case(script=SCRIPT.replace('"csv", data_files="rows.csv", delimiter=";"', '"acme/rows", subset="a"')),
    ),
    kinds=PROGRAMS,
)
