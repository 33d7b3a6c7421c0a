"""Trainer argument of the wrong kind.

## What it does
Checks the arguments of a trainer for text as `args` or as `formatting_func`, a config as `model`, a class such as
`AutoTokenizer` instead of an object from its `from_pretrained`, and one callback instead of a list. Since trl 1.10,
also checks for data that comes from `json.load` or is a pandas table, and for a list of rows as evaluation data.

## Why is this bad
The trainer raises AttributeError or TypeError while it is built, after the data and the model are loaded. The error
names neither the argument nor the expected type: `'str' object has no attribute 'seed'`.

## Fix safety
There is no automatic fix: the message names the expected type.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call, CallResult, LibraryName, LocalName
from holdfast.core.job.document import Document

WITH_ARGS_SECOND = ("trl.SFTTrainer", "transformers.Trainer", "transformers.Seq2SeqTrainer")
WITH_MODEL_FIRST = tuple(f"trl.{name}Trainer" for name in ("DPO", "KTO", "Reward", "GRPO", "ORPO", "CPO"))
"""Trainers whose first parameter has always been the model; others had their config first in some releases."""
CONFIGURES = ("Config", "Arguments")
AUTO = "transformers.Auto"
DATA: Final = ("train_dataset", "eval_dataset")
"""Arguments that are data; CMB103 reports a list or a text as the first, by the trainer's own check."""
WITH_DATASETS: Final = tuple(f"trl.{name}Trainer" for name in ("SFT", "DPO", "KTO", "Reward", "GRPO", "RLOO"))
PARSED: Final = {
    "json.load": "the result of `json.load`; make a dataset of it: `Dataset.from_list(…)`",
    **dict.fromkeys(
        [f"pandas.{name}" for name in ("DataFrame", "read_csv", "read_json", "read_parquet")],
        "a table of pandas; make a dataset of it: `Dataset.from_pandas(…)`",
    ),
}


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each trainer argument of the wrong kind."""
    trainer = _library_trainer(job)
    if trainer is None:
        return
    takes_datasets = _takes_datasets(trainer, api)
    for name, (at, value) in _given(trainer).items():
        if fault := _fault(name, value) or (takes_datasets and _fault_of_data(name, value)):
            yield _finding(trainer, name, at, fault)


def _takes_datasets(trainer: Call, api: Api) -> bool:
    """True if a trainer takes data of `datasets` alone."""
    return trainer.path in WITH_DATASETS and bool(since(api, "trl", "1.10.0"))


def _fault(name: str, value: Any) -> str:
    """Return the type of a part and the expected one; empty if no fault is visible."""
    match name:
        case "args" if isinstance(value, str):
            return f"the string {value!r}; pass a config with an `output_dir`"
        case "formatting_func" if isinstance(value, str):
            return f"the string {value!r}; pass a function, or name a column as `dataset_text_field` in the config"
        case "callbacks" if _is_callback(value):
            return "a single callback; pass a list: put it in brackets"
        case "model" | "processing_class" if _is_auto_class(value):
            return f"the class `{_last(value)}`; load it with `from_pretrained`"
        case "model" if _is_config(value):
            return f"a `{_last(value)}`; pass a model, or the name of one, before `args`"
    return ""


def _last(value: CallResult | LibraryName) -> str:
    return value.path.rpartition(".")[2]


def _is_auto_class(value: Any) -> bool:
    return isinstance(value, LibraryName) and value.path.startswith(AUTO)


def _is_config(value: Any) -> bool:
    """True if a value is a config of a library's that a call has made."""
    configures = isinstance(value, CallResult) and value.path.endswith(CONFIGURES)
    return configures and value.path.startswith(("trl.", "transformers."))


def _library_trainer(job: Document) -> Call | None:
    """Return the call of a library's trainer, if an error would end the program there."""
    trainer = job.call("trainer")
    if trainer is None or trainer.guard.because or trainer.guard.catches or trainer.own:
        return None
    return trainer if trainer.package in ("trl", "transformers") and trainer.name.endswith("Trainer") else None


def _finding(trainer: Call, name: str, at: str | int, fault: str) -> Finding:
    if at == name:
        return Finding(f"{trainer.key}.{name}", f"`{name}` is {fault}")
    return Finding(trainer.key, f"`{name}` is {fault}", place=trainer.name_place)


def _given(trainer: Call) -> Mapping[str, tuple[str | int, Any]]:
    """Return the arguments of a trainer, each with its name or position."""
    names = (
        ("model", "args")
        if trainer.path in WITH_ARGS_SECOND
        else ("model",)
        if trainer.path in WITH_MODEL_FIRST
        else ()
    )
    placed = {name: (at, trainer.positional[at]) for at, name in enumerate(names[: len(trainer.positional)])}
    parts = ("model", "args", "processing_class", "callbacks", "formatting_func", *DATA)
    return placed | {name: (name, trainer.arguments[name]) for name in parts if name in trainer.arguments}


def _fault_of_data(name: str, value: Any) -> str:
    """Return the type of what is given as data; empty where it is a dataset, or may be one."""
    if name == DATA[1] and isinstance(value, list | str):
        return "rows that are not a dataset; make one of them: `Dataset.from_list(…)`, or `load_dataset(…)` of a file"
    return PARSED.get(value.path, "") if name in DATA and isinstance(value, CallResult) else ""


def _is_callback(value: Any) -> bool:
    """True if a value is one callback, or its class; what a function gives may be a list of them."""
    made = isinstance(value, CallResult | LibraryName) and value.path.rpartition(".")[2][:1].isupper()
    return made or (isinstance(value, LocalName) and value.kind == "class")


SCRIPT = """from transformers import AutoTokenizer, PrinterCallback
from trl import SFTConfig, SFTTrainer

tokenizer = AutoTokenizer.from_pretrained("acme/base")
args = SFTConfig(output_dir="out")
stop = PrinterCallback()
trainer = SFTTrainer("acme/base", args=args, train_dataset=rows, processing_class=tokenizer, callbacks=[stop])
"""

RULE = Rule(
    code="ARG120",
    name="misgiven-part",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and a tiny model: each bad example raises AttributeError or TypeError while the trainer is built, a "
        "column's name as `formatting_func` when the rows are prepared. TypeError for rows that are no `Dataset`, and AttributeError for those of an evaluation."
    ),
    bad=(
        Case(script=SCRIPT.replace("args=args", 'args="out"'), at="trainer.args"),
        Case(script=SCRIPT.replace("args=args", '"out"'), at="trainer"),
        Case(script=SCRIPT.replace('"acme/base", args=args', "args"), at="trainer"),
        Case(script=SCRIPT.replace("class=tokenizer", "class=AutoTokenizer"), at="trainer.processing_class"),
        Case(script=SCRIPT.replace("[stop]", "stop"), at="trainer.callbacks"),
        Case(script=SCRIPT.replace("callbacks=[stop]", 'formatting_func="text"'), at="trainer.formatting_func"),
        Case(
            script=SCRIPT.replace("=rows", '=json.load(open("rows.json"))').replace(
                "from tr", "import json\nfrom tr", 1
            ),
            at="trainer.train_dataset",
        ),
        Case(
            script=SCRIPT.replace("=rows", '=rows, eval_dataset=[{"text": "1 and 1 is 2"}]'), at="trainer.eval_dataset"
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("[stop]", "None")),
        Case(
            script=SCRIPT.replace("=rows", '=rows, eval_dataset=[{"text": "1 and 1 is 2"}]'), versions={"trl": "1.9.0"}
        ),
        Case(script=SCRIPT.replace("=rows", "=rows, eval_dataset={'first': rows}")),
    ),
    kinds=PROGRAMS,
)
