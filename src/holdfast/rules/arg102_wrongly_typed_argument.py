"""Value of the wrong type for its argument.

## What it does
Checks the type of each number and switch in a training config against the declaration of its class, in the versions
that the job will use: text instead of a number, `2.0` instead of a whole number, `True` instead of a number, text
instead of `True` or `False`. Also checks for invalid JSON text where a mapping is expected, and for a command-line
flag that needs a value and has none, such as `--bf16`, whose default is None.

## Why is this bad
Config classes do not check types. A learning rate in quotes is accepted, and the optimizer raises `TypeError` after
the model and the data are loaded. `packing: no` in a job file is accepted and counts as true: job files are YAML 1.2,
which knows only `true` and `false`; `no` is text, and text is true. Text that begins with `{` is parsed as JSON when
the config is created, and JSON requires double quotes around names.

## Fix safety
The fix is safe: it removes the quotes around a number, and writes `yes`, `no`, `on` and `off` as true or false. There
is no fix for `True` in place of a number: it counts as 1, and the intended number is unknown.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import has_edits, names_of, signatures
from holdfast.catalog.calls.converted_options import DECIMAL_ALLOWED, SCALARS, unconverted_option
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.api import CallSignature, Parameter
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Set
from holdfast.core.job.expressions import is_known
from holdfast.core.text.json_text import parse_json
from holdfast.core.text.numbers import is_whole

SWITCHES = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
PARSED_SWITCHES = {"yes", "true", "t", "y", "1", "no", "false", "f", "n", "0"}  # `string_to_bool` of transformers
NOTHING = {"none", "null"}
WORDS = {"bool": "`True` or `False`", "float": "a number", "int": "a whole number"}
IN_YAML = {"bool": "`true` or `false`"}
LORA = {"r", "lora_alpha", "lora_dropout"}
"""Numbers with which an adapter calculates as soon as it is added to a model; a decimal number works too."""
# Arguments that work with None although their type does not allow it.
NONE = {"ddp_timeout", "local_rank", "repetition_penalty", "save_steps", "top_k", "top_p"}


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each value of a type that its argument does not accept."""
    for call, signature in signatures(job, api):
        names = names_of(api, call.path)
        if "LoraConfig" in names:
            yield from _in_adapter(job, call, signature)
        elif call.via == "parser" or "TrainingArguments" in names:
            yield from _in_config(job, call, signature)


def _in_adapter(job: Document, call: Call, signature: CallSignature) -> Iterator[Finding]:
    yield from _no_rank(call)
    for name in call.arguments:
        if name in LORA and name in signature.parameters:
            yield from _judged(job, call, signature.parameters[name], decimal_allowed=True)


def _no_rank(call: Call) -> Iterator[Finding]:
    """Report an adapter with a rank of 0 or less: a matrix has at least one row."""
    rank = call.arguments.get("r")
    if is_whole(rank) and rank < 1:
        yield Finding(f"{call.key}.r", f"`r` is {rank}, not a whole number above 0")


def _in_config(job: Document, call: Call, signature: CallSignature) -> Iterator[Finding]:
    for name in filter(signature.parameters.__contains__, call.arguments):
        parameter = signature.parameters[name]
        yield from _broken_json(call, parameter)
        if name not in call.own:
            yield from _judged(job, call, parameter)


def _broken_json(call: Call, parameter: Parameter) -> Iterator[Finding]:
    """Report text that begins like JSON but is not, where a config reads JSON."""
    if not {"dict", "str"} <= parameter.types or call.guard.tolerates("ValueError"):
        return
    value = call.arguments[parameter.name]
    if isinstance(value, str) and value.startswith("{") and (error := _json_error(value)):
        yield Finding(f"{call.key}.{parameter.name}", f"`{parameter.name}` must be valid JSON: {error}")


def _json_error(text: str) -> str:
    """Return the syntax error of a text as JSON; empty if there is none."""
    try:
        parse_json(text)
    except ValueError as error:
        return str(error)
    return ""


def _judged(job: Document, call: Call, parameter: Parameter, *, decimal_allowed: bool = False) -> Iterator[Finding]:
    if not parameter.types or unconverted_option(call, parameter):
        return
    if _lacks_its_value(call, parameter):
        yield _without_value(job, call, parameter)
    elif parameter.types <= SCALARS:
        value = call.arguments[parameter.name]
        if _is_wrong(call, value, parameter, decimal_allowed=decimal_allowed):
            yield _wrong(job, call, parameter, value)


def _is_wrong(call: Call, value: Any, parameter: Parameter, *, decimal_allowed: bool) -> bool:
    """True if a value is known and neither of its argument's types nor converted to one."""
    known = isinstance(value, bool | int | float | str | None) or _is_collection(call, value, parameter)
    fits = (decimal_allowed and isinstance(value, float)) or _fits(value, parameter)
    return known and not fits and (call.via != "parser" or not _is_parsed(value, parameter))


def _is_finite_number(text: str, parameter: Parameter) -> bool:
    try:
        return isfinite(float(text) if "float" in parameter.types else int(text))
    except ValueError:
        return False


def _lacks_its_value(call: Call, parameter: Parameter) -> bool:
    """True if a flag stands alone where argparse wants a value: only a switch whose default is known can do without."""
    if call.via != "parser" or parameter.name in call.defaults or call.arguments[parameter.name] is not True:
        return False
    return "bool" not in parameter.types or (parameter.types == {"bool", "null"} and parameter.default is None)


def _without_value(job: Document, call: Call, parameter: Parameter) -> Finding:
    key = f"{call.key}.{parameter.name}"
    is_switch = "bool" in parameter.types
    fix = Fix("write `true`", (Set(key, value=True),)) if is_switch and has_edits(job, call) else None
    wanted = "`true` or `false`" if is_switch else WORDS.get(next(iter(parameter.types - {"null"}), ""), "one")
    return Finding(key, f"`--{parameter.name}` has no value; the parser expects {wanted} after it", fix)


def _wrong(job: Document, call: Call, parameter: Parameter, value: Any) -> Finding:
    words = WORDS | IN_YAML if call.via == "file" else WORDS
    wanted = next(word for kind, word in words.items() if kind in parameter.types)
    silent = "bool" in parameter.types and isinstance(value, str) and call.via != "parser"
    silently = ", and text counts as true" if silent else ""
    message = f"`{parameter.name}` is {value!r}, not {wanted}{silently}"
    fix = _writing_meant(job, call, parameter, value)
    return Finding(f"{call.key}.{parameter.name}", message, fix, _severity(call, value, parameter))


def _writing_meant(job: Document, call: Call, parameter: Parameter, value: Any) -> Fix | None:
    """Return the edit that writes the number or switch that is meant; None if the value stands for none."""
    meant = _read(value, parameter)
    if meant is None or not has_edits(job, call):
        return None
    shown = str(meant).lower() if call.via == "file" else str(meant)
    return Fix(f"write `{shown}`", (Set(f"{call.key}.{parameter.name}", meant),))


def _is_collection(call: Call, value: Any, parameter: Parameter) -> bool:
    """True if a list or a mapping stands in the place of a number; in a job file, of a switch too."""
    is_number = not parameter.types & {"bool"} and call.via == "call"
    return (is_number or call.via == "file") and isinstance(value, list | tuple | dict) and is_known(value)


def _is_parsed(value: Any, parameter: Parameter) -> bool:
    """True if a parser takes a value from a command line, or from a file, for what the argument needs."""
    if not isinstance(value, str):  # a value from a file is not converted
        return True
    if value.lower() in NOTHING and "null" in parameter.types:
        return True
    if "bool" in parameter.types:
        return value.lower() in PARSED_SWITCHES or not parameter.types <= {"bool", "null"}
    return _is_finite_number(value, parameter)


def _severity(call: Call, value: Any, parameter: Parameter) -> Severity | None:
    """Return a warning for a value that is known to run in spite of its type."""
    if call.via == "parser":
        return None  # the parser ends the program
    harmless = isinstance(value, bool) or (isinstance(value, float) and parameter.name in DECIMAL_ALLOWED)
    switch = "bool" in parameter.types and call.via != "file"
    return Severity.WARNING if harmless or switch else None


def _fits(value: Any, parameter: Parameter) -> bool:
    """True if a value is one of the plain types; a whole number is also a float, and any number a switch."""
    match value:
        case None:
            wants_number = parameter.types & {"int", "float"} and parameter.name not in NONE
            return not wants_number or "null" in parameter.types
        case bool():
            return "bool" in parameter.types
        case int():
            return True
        case float():
            return "float" in parameter.types
        case _:
            return False


def _read(value: Any, parameter: Parameter) -> bool | int | float | None:
    """Return the number or switch that a text or a round number stands for."""
    text = str(value).strip().lower()
    if "bool" in parameter.types:
        return SWITCHES.get(text)
    try:
        number = float(text)
    except ValueError:
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    whole = number.is_integer()
    if "float" not in parameter.types:
        return int(number) if whole else None
    return number if isfinite(number) else None


QUOTED = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  learning_rate: "2e-5"
"""
PLAIN = QUOTED.replace('"2e-5"', "2e-05")
PACKED = PLAIN.replace("learning_rate: 2e-05", "packing: no")
ROUND = PLAIN.replace("learning_rate: 2e-05", "max_steps: 100.0")

SCRIPT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="capybara", learning_rate="2e-5", packing=True)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=load_dataset("trl-lib/Capybara", split="train"))
trainer.train()
"""
ADAPTER = """
from peft import LoraConfig

lora = LoraConfig(r="16", lora_alpha=32.0, task_type="CAUSAL_LM")
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara"
FIXED = SCRIPT.replace('"2e-5"', "2e-05")

RULE = Rule(
    code="ARG102",
    name="wrongly-typed-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 on a tiny model, one argument of SFTConfig at a time, up to the end of the first step. Text "
        "for a number: 28 of 32 raise. A decimal number for a whole one: all but four raise, or may. `True` for "
        "a number runs in 29 of 32, as 1: a warning. Text for a switch never raises. Adapters of peft 0.21 with text or a list "
        "for `r`, `lora_alpha` or `lora_dropout` were put on a model: TypeError; with a rank of 0: ValueError. "
        "The parser of trl 1.16 was given bare flags: `--fp16` and `--packing` are taken, `--bf16`, `--tf32`, "
        "`--learning_rate` and `--report_to` are not. Text with `{` that is not valid JSON was given to each field of seven "
        "config classes that takes text or a mapping: ValueError."
    ),
    bad=(
        Case(
            job=QUOTED.replace('learning_rate: "2e-5"', 'logging_steps: "1"'),
            at="train.logging_steps",
            fixed=PLAIN.replace("learning_rate: 2e-05", "logging_steps: 1"),
        ),
        Case(job=QUOTED, at="train.learning_rate", fixed=PLAIN),
        Case(job=PACKED, at="train.packing", fixed=PACKED.replace("no", "false")),
        Case(job=ROUND, at="train.max_steps", fixed=ROUND.replace("100.0", "100")),
        Case(job=PLAIN.replace("2e-05", "fast"), at="train.learning_rate"),
        Case(job=PLAIN.replace("2e-05", "[2e-05]"), at="train.learning_rate"),
        Case(job=PACKED.replace("no", "[true]"), at="train.packing"),
        Case(script=SCRIPT, at="train.learning_rate", fixed=FIXED),
        Case(script=FIXED.replace("=True", '="no"'), at="train.packing", fixed=FIXED.replace("=True", "=False")),
        Case(script=FIXED.replace("packing", "logging_steps"), at="train.logging_steps"),
        Case(script=FIXED.replace("packing=True", "max_steps=[100]"), at="train.max_steps"),
        Case(
            script=FIXED.replace("packing=True", "model_init_kwargs='{use_cache: false}'"), at="train.model_init_kwargs"
        ),
        Case(command=COMMAND + " --bf16\n", at="train.bf16", fixed=COMMAND + " --bf16 true\n"),
        Case(command=COMMAND + " --lr_scheduler_kwargs '{num_cycles: 2}'\n", at="train.lr_scheduler_kwargs"),
        Case(script=ADAPTER.replace('"16"', "0"), at="calls.0.r"),
        Case(script=ADAPTER, at="calls.0.r", fixed=ADAPTER.replace('"16"', "16")),
    ),
    good=(
        Case(job=PLAIN),
        Case(job=PLAIN.replace("learning_rate: 2e-05", "max_length: null\n  packing: false\n  warmup_steps: 0.1")),
        Case(script=FIXED),
        Case(script=FIXED.replace("packing=True", "model_init_kwargs='{\"use_cache\": false}'")),
        Case(command=COMMAND + " --bf16 true --packing --fp16\n"),
        Case(command=COMMAND + """ --lr_scheduler_kwargs '{"num_cycles": 2}'\n"""),
        Case(script=ADAPTER.replace('"16"', "16")),
        Case(script=SCRIPT.replace('"2e-5"', "2 * 10**-5")),
    ),
    kinds=ANY_KIND,
)
