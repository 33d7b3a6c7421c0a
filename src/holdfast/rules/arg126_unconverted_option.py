"""Command-line option that is not converted to the type that its argument needs.

## What it does
Follows the options of an `argparse` parser to the arguments of training configs and adapters. Reports options without
`type=` (which are text) where a number or a switch is expected, `type=float` where a whole number is expected, and
`type=bool`. Likewise reports fields of the script's own dataclasses that an `HfArgumentParser` reads: `lr: str`.
Checks only values that reach the argument unchanged: `learning_rate=float(args.lr)` is fine.

## Why is this bad
Without `type`, `--lr 2e-5` is the text `'2e-5'`. Config classes do not check types, and the optimizer raises
`TypeError` after the model and the data are loaded. `type=bool` converts every text except the empty one to True:
`--bf16 False` turns bf16 on.

## Fix safety
There is no automatic fix.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import names_of, signatures
from holdfast.catalog.calls.converted_options import unconverted_option
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.api import CallSignature, Parameter
from holdfast.core.job.calls import Call, ParserOption
from holdfast.core.job.document import Document

SWITCH = "write `action=argparse.BooleanOptionalAction`"
NUMBERS_OF_ADAPTERS = {"r", "lora_alpha", "lora_dropout"}


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each option that gives its argument a value of another type."""
    for call, signature in signatures(job, api) if any(call.options for call in job.calls) else ():
        names = names_of(api, call.path)
        if "LoraConfig" in names or "TrainingArguments" in names:
            yield from _unconverted(call, signature, adapts="LoraConfig" in names)


def _unconverted(call: Call, signature: CallSignature, *, adapts: bool) -> Iterator[Finding]:
    for parameter in _parsed(call, signature):
        option = unconverted_option(call, parameter)
        if option and (not adapts or _is_text_for_number(option, parameter)):
            is_text = isinstance(call.arguments[parameter.name], str)
            message, severity = _message(option, parameter), _severity(option, parameter, is_text)
            yield Finding(f"{call.key}.{parameter.name}", message, severity=severity, place=option.place)


def _parsed(call: Call, signature: CallSignature) -> Iterator[Parameter]:
    """Yield the parameters of the library's that a call is given as they were parsed."""
    names = (each for each in call.options if each not in call.own | call.changed)
    return (signature.parameters[name] for name in names if name in signature.parameters)


def _is_text_for_number(option: ParserOption, parameter: Parameter) -> bool:
    return parameter.name in NUMBERS_OF_ADAPTERS and option.kind == "str"


def _message(option: ParserOption, parameter: Parameter) -> str:
    name, to = option.name, f"`{parameter.name}`"
    if option.action == "field":
        kind = next(each for each in ("bool", "float", "int") if each in parameter.types)
        return f"`{name}` gives {to} a `{option.kind}`: declare the field as `{kind}`"
    if option.kind == "bool":
        return f"`{name} False` makes {to} true: `type=bool` converts any text except the empty one to True; {SWITCH}"
    if option.kind == "float":
        return f"`{name}` gives {to} a decimal number, not a whole one: write `type=int`"
    if "bool" in parameter.types:
        return f"`{name}` gives {to} text, and text counts as true, `False` too: {SWITCH}"
    kind, number = ("float", "a number") if "float" in parameter.types else ("int", "a whole number")
    return f"`{name}` gives {to} text, not {number}: add `type={kind}`"


def _severity(option: ParserOption, parameter: Parameter, is_text: bool) -> Severity | None:  # noqa: FBT001 - of one value
    """Return a warning where nothing raises, or where only a value on the command line does."""
    always = is_text or option.required or option.is_positional or isinstance(option.default, str)
    return Severity.WARNING if "bool" in parameter.types or not always else None


SCRIPT = """
import argparse

from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=2e-5)
parser.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--max_steps", type=int, default=100)
options = parser.parse_args()
args = SFTConfig(output_dir="out", learning_rate=options.lr, bf16=options.bf16, max_steps=options.max_steps)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
SWITCHED = SCRIPT.replace("action=argparse.BooleanOptionalAction", "type=bool")
ADAPTER = """
import argparse

from peft import LoraConfig

parser = argparse.ArgumentParser()
parser.add_argument("--rank", type=int, default=16)
options = parser.parse_args()
lora = LoraConfig(r=options.rank, task_type="CAUSAL_LM")
"""

FIELD = """
from dataclasses import dataclass

from transformers import HfArgumentParser
from trl import SFTConfig, SFTTrainer


@dataclass
class ScriptArguments:
    lr: float = 2e-5


(options,) = HfArgumentParser(ScriptArguments).parse_args_into_dataclasses()
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=SFTConfig(learning_rate=options.lr), train_dataset=rows)
"""

RULE = Rule(
    code="ARG126",
    name="unconverted-option",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "`argparse` of Python 3.11, tried: a value without `type` is text, a default that is text is converted like a word, and "
        "`bool` makes True of `False`. What such values do in a config is what ARG102 tried."
    ),
    bad=(
        Case(script=SCRIPT.replace("type=float, default=2e-5", "required=True"), at="train.learning_rate"),
        Case(script=SCRIPT.replace("type=float, default=2e-5", 'default="2e-5"'), at="train.learning_rate"),
        Case(script=SCRIPT.replace("type=float, ", ""), at="train.learning_rate"),
        Case(script=SCRIPT.replace("type=int", "type=float"), at="train.max_steps"),
        Case(script=SWITCHED, at="train.bf16"),
        Case(script=SWITCHED.replace("type=bool, ", ""), at="train.bf16"),
        Case(script=ADAPTER.replace("type=int, ", ""), at="calls.3.r"),
        Case(script=FIELD.replace("float = 2e-5", 'str = "2e-5"'), at="train.learning_rate"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("type=float, ", "").replace("options.lr", "float(options.lr)")),
        Case(script=SCRIPT.replace("type=int", "type=lambda word: int(float(word))")),
        Case(script=SCRIPT.replace("action=argparse.BooleanOptionalAction", "type=lambda word: word == 'true'")),
        Case(script=SCRIPT.replace("default=2e-5", 'default="2e-5"')),
        Case(script=ADAPTER),
        Case(script=FIELD),
        Case(
            script=FIELD.replace("float = 2e-5", 'str = "2e-5"').replace(
                "parse_args_into_dataclasses()", "parse_yaml_file(path)"
            )
        ),
        Case(script=FIELD.replace("float = 2e-5", 'str = "2e-5"').replace("options.lr", "float(options.lr)")),
    ),
    kinds=PROGRAMS,
)
