"""A part of a trainer that is another kind of thing than the trainer wants.

## What it does
Looks at what a trainer is given: text as `args` or as `formatting_func`, a config as `model`, a class such as `AutoTokenizer` instead of what its
`from_pretrained` loads, and one callback instead of a list.

## Why is this bad
The trainer raises AttributeError or TypeError while it is built, after the data and the model were loaded, in words that name neither the argument nor
what it should be: `'str' object has no attribute 'seed'`.

## Fix safety
There is no automatic fix: the message says what is wanted.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.core.calls import Call, CallResult, LibraryName, LocalName
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity

WITH_ARGS_SECOND = ("trl.SFTTrainer", "transformers.Trainer", "transformers.Seq2SeqTrainer")
WITH_MODEL_FIRST = tuple(f"trl.{name}Trainer" for name in ("DPO", "KTO", "Reward", "GRPO", "ORPO", "CPO"))
"""Others began with their config once."""
CONFIGURES = ("Config", "Arguments")
AUTO = "transformers.Auto"


def check(job: Document) -> Iterator[Finding]:
    """Object to each part that is something else."""
    trainer = job.call("trainer")
    known = (
        trainer and trainer.package in ("trl", "transformers") and trainer.name.endswith("Trainer") and not trainer.own
    )
    if not trainer or not known or trainer.guard.because or trainer.guard.catches:
        return
    for name, (at, value) in _given(trainer).items():
        if fault := _fault(name, value):
            key = f"{trainer.key}.{at}" if at == name else trainer.key
            yield Finding(key, f"`{name}` is {fault}", place=None if at == name else trainer.name_place)


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
    parts = ("model", "args", "processing_class", "callbacks", "formatting_func")
    return placed | {name: (name, trainer.arguments[name]) for name in parts if name in trainer.arguments}


def _fault(name: str, value: Any) -> str:
    """Return the type of a part and the expected one; empty if no fault is visible."""
    if name == "args" and isinstance(value, str):
        return f"the text {value!r}; it is a config, which has an `output_dir`"
    if name == "formatting_func" and isinstance(value, str):
        return f"the text {value!r}; it is a function, and a column is named by `dataset_text_field` of the config"
    if name == "callbacks" and _is_callback(value):
        return "one callback; it is a list: put it in brackets"
    if name in ("model", "processing_class") and isinstance(value, LibraryName) and value.path.startswith(AUTO):
        return f"the class `{value.path.rpartition('.')[2]}`; load it with `from_pretrained`"
    if (
        name == "model"
        and isinstance(value, CallResult)
        and value.path.endswith(CONFIGURES)
        and value.path.startswith(("trl.", "transformers."))
    ):
        return f"a `{value.path.rpartition('.')[2]}`; it is a model, or the name of one, and comes before `args`"
    return ""


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
        "column's name as `formatting_func` when the rows are prepared."
    ),
    bad=(
        Case(script=SCRIPT.replace("args=args", 'args="out"'), at="trainer.args"),
        Case(script=SCRIPT.replace("args=args", '"out"'), at="trainer"),
        Case(script=SCRIPT.replace('"acme/base", args=args', "args"), at="trainer"),
        Case(script=SCRIPT.replace("class=tokenizer", "class=AutoTokenizer"), at="trainer.processing_class"),
        Case(script=SCRIPT.replace("[stop]", "stop"), at="trainer.callbacks"),
        Case(script=SCRIPT.replace("callbacks=[stop]", 'formatting_func="text"'), at="trainer.formatting_func"),
    ),
    good=(Case(script=SCRIPT), Case(script=SCRIPT.replace("[stop]", "None"))),
    kinds=PROGRAMS,
)
