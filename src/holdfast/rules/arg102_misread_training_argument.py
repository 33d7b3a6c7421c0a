"""A value under `train` that is not of the kind its argument needs.

## What it does
Compares each number, switch and choice under `train` with what the method's config class declares: text where a
number belongs, `2.0` where a whole number belongs, text where `true` or `false` belongs, and a choice that is none.

## Why is this bad
Config classes do not check types. A learning rate in quotes passes, and the optimizer raises `TypeError` once the
model and the data have been loaded. `packing: no` passes and is taken for true: YAML 1.2, which job files are, knows
only `true` and `false`; `no` is text, and text is true. An unknown sampling strategy is silently the default one.

## Fix safety
Quotes around a number are taken off, and `yes`, `no`, `on`, `off` become `true` and `false`: safe. A choice that is
near to what was written is a guess, and its fix unsafe.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

from holdfast.catalog.train_arguments import Argument, arguments_of
from holdfast.core.document import Document, Set
from holdfast.core.finding import Case, Finding, Fix, Rule, Severity

SWITCHES = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
SCALARS = {"bool", "int", "float", "null"}
WORDS = {"bool": "`true` or `false`", "float": "a number", "int": "a whole number"}


def check(job: Document) -> Iterator[Finding]:
    """Object to each value that its argument cannot be."""
    written = job.get("train", {})
    for name, argument in arguments_of(job).items():
        key = f"train.{name}"
        if not isinstance(written, Mapping) or name not in written:
            continue
        value = job.get(key)
        if argument.choices:
            yield from _choice(key, value, argument)
        elif argument.types <= SCALARS and not _fits(value, argument):
            yield _scalar(key, value, argument)


def _fits(value: Any, argument: Argument) -> bool:
    """Tell whether a value is one of the plain types; a whole number is also a float, and any number a switch."""
    match value:
        case None:
            return not argument.types & {"int", "float"} or "null" in argument.types
        case int():  # and so a switch
            return True
        case float():
            return "float" in argument.types
        case _:
            return False


def _scalar(key: str, value: Any, argument: Argument) -> Finding:
    wanted = next(word for kind, word in WORDS.items() if kind in argument.types)
    meant = _read(value, argument)
    fix = None if meant is None else Fix(f"write `{str(meant).lower()}`", (Set(key, meant),))
    silently = ", and text counts as true" if "bool" in argument.types and isinstance(value, str) else ""
    return Finding(key, f"{value!r} is not {wanted}{silently}", fix)


def _read(value: Any, argument: Argument) -> bool | int | float | None:
    """Return the number or switch that a text or a round number stands for."""
    text = str(value).strip().lower()
    if "bool" in argument.types:
        return SWITCHES.get(text)
    try:
        number = float(text)
    except ValueError:
        return None
    whole = number.is_integer()
    if "float" not in argument.types:
        return int(number) if whole else None
    return number if isfinite(number) else None


def _choice(key: str, value: Any, argument: Argument) -> Iterator[Finding]:
    if value in argument.choices or (value is None and "null" in argument.types):
        return
    nearest = get_close_matches(str(value), argument.choices, n=1)
    fix = Fix(f"write `{nearest[0]}`", (Set(key, nearest[0]),), safe=False) if nearest else None
    known = ", ".join(argument.choices)
    severity = None if argument.strict else Severity.WARNING
    yield Finding(key, f"{value!r} is none of: {known}", fix, severity)


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
OPTIMIZER = PLAIN.replace("learning_rate: 2e-05", "optim: adamw_torch_fuse")
SAMPLED = PLAIN.replace("learning_rate: 2e-05", "train_sampling_strategy: group_by_lenght")

RULE = Rule(
    code="ARG102",
    name="misread-training-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 on a tiny model, one argument at a time: of 24 numbers given as text 20 raise before or in "
        "the first step; text for a switch never raises; a choice that is an "
        "enum raises ValueError at once."
    ),
    bad=(
        Case(job=QUOTED, at="train.learning_rate", fixed=PLAIN),
        Case(job=PACKED, at="train.packing", fixed=PACKED.replace("no", "false")),
        Case(job=ROUND, at="train.max_steps", fixed=ROUND.replace("100.0", "100")),
        Case(job=OPTIMIZER, at="train.optim", fixed=OPTIMIZER.replace("fuse", "fused")),
        Case(job=SAMPLED, at="train.train_sampling_strategy", fixed=SAMPLED.replace("lenght", "length")),
        Case(job=PLAIN.replace("2e-05", "fast"), at="train.learning_rate"),
    ),
    good=(
        Case(job=PLAIN),
        Case(job=PLAIN.replace("learning_rate: 2e-05", "max_length: null\n  packing: false\n  warmup_steps: 0.1")),
    ),
)
