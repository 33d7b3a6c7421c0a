"""File path passed to `load_dataset` as a dataset name.

## What it does
Checks for `load_dataset("rows.jsonl")` and `load_dataset("json", "rows.jsonl")`: a data file in place of the dataset
or of its configuration; likewise for `--dataset_name` of TRL's commands.

## Why is this bad
The first argument names a Hub dataset, a folder, or a format such as `json`; the second names a configuration. A file
is neither, so datasets looks for a Hub dataset of that name, which does not exist. As a configuration, a path raises
InvalidConfigName, and a bare file name is accepted as a configuration name: datasets then reads every file of that
format in the working directory.

## Fix safety
There is no automatic fix. Write `load_dataset("json", data_files="rows.jsonl", split="train")`.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.data.only_load import LOAD
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

NAMED = "train.dataset_name"
FORMATS = {
    "json": "json",
    "jsonl": "json",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "txt": "text",
}
"""The format by which each kind of file is read."""
FILE = re.compile(rf"[^*]*\.(?P<kind>{'|'.join(FORMATS)})(?:\.gz|\.zst|\.xz|\.bz2)?")


def check(job: Document) -> Iterator[Finding]:
    """Report each file that is passed as a dataset name."""
    for call in job.calls:
        if call.path.startswith("trl "):
            yield from _of_command(job, call)
        elif call.path == LOAD and not call.guard.because and not call.guard.catches:
            yield from _of_load(call)


def _of_load(call: Call) -> Iterator[Finding]:
    path, config = _argument(call, 0, "path"), _argument(call, 1, "name")
    if isinstance(path, str) and (found := FILE.fullmatch(path)):
        yield _finding(call, path, found["kind"], "not a dataset")
    elif isinstance(config, str) and (found := FILE.fullmatch(config)) and path in FORMATS.values():
        every = f"not a configuration; every {path} file in the working directory is read"
        yield _finding(call, config, found["kind"], every if "/" not in config else "not a configuration")


def _argument(call: Call, position: int, name: str) -> object:
    return call.positional[position] if len(call.positional) > position else call.arguments.get(name)


def _of_command(job: Document, call: Call) -> Iterator[Finding]:
    """Report a file that a command of TRL would load as a dataset name."""
    name = job.get(NAMED, None)
    if not call.open and isinstance(name, str) and FILE.fullmatch(name):
        yield Finding(
            NAMED, f"{name!r} is a file, not a dataset: name the folder that it is in, or a repository of the Hub"
        )


def _finding(call: Call, name: str, kind: str, what: str) -> Finding:
    meant = f'load_dataset("{FORMATS[kind]}", data_files="{name}")'
    return Finding(call.key, f"{name!r} is a file, {what}: write `{meant}`", place=call.name_place)


SCRIPT = """from datasets import load_dataset

rows = load_dataset("json", data_files="rows.jsonl", split="train")
"""
COMMAND = "trl sft --model_name_or_path acme/base --dataset_name ./rows.jsonl --output_dir out\n"

RULE = Rule(
    code="DAT122",
    name="file-as-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with datasets 5.2: a file as the dataset raises FileNotFoundError or HFValidationError, or asks the Hub for its name; as the "
        "configuration a path raises InvalidConfigName, and `rows.jsonl` reads each JSON file of the folder, of a subfolder too."
    ),
    bad=(
        Case(script=SCRIPT.replace('"json", data_files="rows.jsonl"', '"rows.jsonl"'), at="calls.0"),
        Case(script=SCRIPT.replace('"json", data_files="rows.jsonl"', '"json", "data/rows.json"'), at="calls.0"),
        Case(command=COMMAND, at=NAMED),
    ),
    good=(
        Case(script=SCRIPT),
        Case(command=COMMAND.replace("./rows.jsonl", "./rows")),
        Case(script=SCRIPT.replace('"json", data_files="rows.jsonl"', '"acme/chats", "v1"')),
        Case(script=SCRIPT.replace('"json", data_files="rows.jsonl"', '"acme/chats", data_files="rows.jsonl"')),
    ),
    kinds=PROGRAMS,
)
