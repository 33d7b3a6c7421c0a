"""Command line that the script's own parser refuses.

## What it does
Checks the arguments that a shell script passes to a script, or that follow `--`, against the options of its
`argparse` parser, and against the types of the dataclass fields that an `HfArgumentParser` or `TrlParser` reads.
Reports unknown options, ambiguous abbreviations, missing required options, values that are not among the `choices` or
do not match the `type`, and words that belong to no option, such as a value after a `store_true`. Skips a parser if
not all of its options are visible.

## Why is this bad
The script ends as soon as it parses its command line: `unrecognized arguments: --lerning_rate 1e-5`. On a cluster,
this happens after the job has waited in the queue.

## Fix safety
There is no automatic fix.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from holdfast.catalog.calls.argparse_words import refused_words
from holdfast.catalog.calls.flags import as_parsed, may_give_more
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.api import Parameter
from holdfast.core.job.calls import Call, ParserOptions
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.nearest import nearest, plays_same_role
from holdfast.core.text.places import Place

KEY: Final = "launch.arguments"
NEAR: Final = 0.7
"""The least likeness of two names, from 0 to 1, of which one may be meant for the other."""
REST: Final = "--"
"""Words after it are not options."""
HELP: Final = frozenset({"-h", "--help"})
CONVERTED: Final = frozenset({"int", "float", "bool", "null"})
"""Types to which a parser of dataclasses converts words, and refuses those that it cannot."""
OPTION: Final = re.compile(r"-(?![\d.])")
"""The beginning of an option, but not of a negative number."""


def check(job: Document, script_arguments: Sequence[str | Unknown] | None) -> Iterator[Finding]:
    """Report each option that the parser refuses, and each required option that is missing."""
    parsed = [(call, call.parser) for call in job.calls if call.parser]
    yield from _misread(job, script_arguments or ())
    if script_arguments is None or len(parsed) != 1 or "sys.argv" in job.text:
        return
    call, options = parsed[0]
    given = list(takewhile(lambda word: word != REST, script_arguments))
    if not _may_pass(call):
        yield from _unknown(job, call, options, given)
        yield from _refused(job, call, options, given)


def _misread(job: Document, words: Sequence[str | Unknown]) -> Iterator[Finding]:
    """Report each word that cannot be converted to the type of its field in the script's dataclass."""
    for call in () if "sys.argv" in job.text else job.calls:
        fields = _converted_fields(call)
        for index, name, value in _option_values(words):
            if name in fields and isinstance(value, str) and _is_misread(fields[name], value):
                message = f"`{name}` is {value!r}; its type is `{fields[name].annotation}`"
                yield Finding(f"{KEY}.{index}", message, place=_place(job, f"{KEY}.{index}", call))


def _converted_fields(call: Call) -> dict[str, Parameter]:
    """Return the fields for which a parser surely converts words, by name."""
    fields = () if _may_pass(call) else call.fields
    return {each.name: each for each in fields if each.types <= CONVERTED}


def _option_values(words: Sequence[str | Unknown]) -> Iterator[tuple[int, str, str | Unknown]]:
    """Yield the value of each option, with its position among the words and the option's name."""
    for index, word in enumerate(words):
        if isinstance(word, str) and word.startswith("--"):
            flag, equals, inline = word.partition("=")
            at = index if equals else index + 1
            value = inline if equals else next(iter(words[at : at + 1]), Unknown())
            yield at, _plain(flag), value


def _is_misread(field: Parameter, word: str) -> bool:
    return not OPTION.match(word) and isinstance(as_parsed(field, word), Unknown)


def _unknown(job: Document, call: Call, options: ParserOptions, given: Sequence[str | Unknown]) -> Iterator[Finding]:
    for index, word in enumerate(given):
        if isinstance(word, str) and word.startswith("--") and " " not in word and (fault := _fault(word, options)):
            yield Finding(f"{KEY}.{index}", fault, place=_place(job, f"{KEY}.{index}", call))


def _refused(job: Document, call: Call, options: ParserOptions, given: Sequence[str | Unknown]) -> Iterator[Finding]:
    """Report the first value that the parser refuses, and the required options that are missing."""
    if HELP.intersection(given):
        return
    if refused := refused_words(options.every, given):
        key = KEY if refused.index is None else f"{KEY}.{refused.index}"
        yield Finding(key, f"the script's parser refuses it: {refused.because}", place=_place(job, key, call))
    if not may_give_more(given) and (names := " and ".join(_missing(options, given))):
        message = f"the script's parser requires {names}, which this command does not pass"
        yield Finding(KEY, message, place=_place(job, KEY, call))


def _missing(options: ParserOptions, given: Sequence[str | Unknown]) -> Iterator[str]:
    """Yield the required options that are not given, not even by a misspelt name."""
    meant = {_meant(word, options) for word in given if isinstance(word, str)}
    for flags in options.required:
        name = max(flags, key=len)
        if name not in meant and not any(_is_given(flag, given) for flag in flags):
            yield f"`{name}`"


def _may_pass(call: Call) -> bool:
    return bool(call.guard.because) or call.guard.tolerates("SystemExit")


def _place(job: Document, key: str, call: Call) -> Place:
    """Return where a word of the command is written; where the parser reads it, if no file holds the command."""
    written = job.place(key)
    return written if written.line else call.name_place


def _fault(word: str, options: ParserOptions) -> str:
    """Return why the parser refuses an option; empty if it takes it."""
    name = word.partition("=")[0]
    begun = sorted(flag for flag in options.flags if flag.startswith(name))
    if name in options.flags or len(begun) == 1:
        return ""
    if begun:
        return f"`{name}` is ambiguous: the script's parser could match {', '.join(f'`{flag}`' for flag in begun)}"
    meant = _meant(name, options)
    return f"the script's parser has no option `{name}`" + (f": did you mean `{meant}`?" if meant else "")


def _meant(word: str, options: ParserOptions) -> str | None:
    """Return the option that an unknown one is nearest to; None where it is known, or none is near."""
    name = word.partition("=")[0]
    if not name.startswith("--") or name in options.flags:
        return None
    alike = tuple(sorted(flag for flag in options.flags if plays_same_role(_plain(name), _plain(flag))))
    return nearest(name, alike, cutoff=NEAR)


def _plain(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _is_given(flag: str, words: Sequence[str | Unknown]) -> bool:
    """True if words give an option: by its name or the beginning of it, or by its letter among others."""
    texts = [word.partition("=")[0] for word in words if isinstance(word, str)]
    if flag.startswith("--"):
        return any(text.startswith("--") and flag.startswith(text) for text in texts)
    return any(text.startswith("-") and not text.startswith("--") and flag[1:] in text for text in texts)


SCRIPT = """# python train.py --learning_rate 1e-5
import argparse

from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, required=True)
parser.add_argument("--output_dir", default="out")
options = parser.parse_args()
args = SFTConfig(output_dir=options.output_dir, learning_rate=options.learning_rate)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
FACT: Final = "script_arguments"
GIVEN: Final = {FACT: ("--learning_rate", "1e-5")}

PARSED: Final = """# python train.py --limit 100
from dataclasses import dataclass

from transformers import HfArgumentParser
from trl import SFTConfig, SFTTrainer


@dataclass
class ScriptArguments:
    limit: int = 100
    rate: float | None = None
    fast: bool = False


options, args = HfArgumentParser((ScriptArguments, SFTConfig)).parse_args_into_dataclasses()
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows.select(range(options.limit)))
"""

RULE = Rule(
    code="ARG124",
    name="refused-script-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "argparse of Python 3.11, tried: `unrecognized arguments`, `ambiguous option` and `the following arguments are required`. Whether "
        "it takes the values, it is asked itself."
    ),
    bad=(
        Case(
            script=SCRIPT.replace("py --learning", "py --lerning"),
            facts={FACT: ("--lerning_rate", "1e-5")},
            at=f"{KEY}.0",
        ),
        Case(
            script=SCRIPT.replace("py --learning_rate 1e-5", "py --output_dir there"),
            facts={FACT: ("--output_dir", "there")},
            at=KEY,
        ),
        Case(
            script=SCRIPT.replace("rate 1e-5\nimport", "rate fast\nimport"),
            facts={FACT: ("--learning_rate", "fast")},
            at=f"{KEY}.1",
        ),
        Case(script=PARSED.replace("100\nfrom", "all\nfrom"), facts={FACT: ("--limit", "all")}, at=f"{KEY}.1"),
        Case(script=PARSED, facts={FACT: ("--fast=maybe",)}, at=f"{KEY}.0"),
    ),
    good=(
        Case(script=PARSED, facts={FACT: ("--limit", "-1", "--rate", "1e-5", "--fast", "--learning_rate", "1e-5")}),
        Case(script=PARSED, facts={FACT: ("--limit=100", "--rate", "None", "--fast", "yes", "--save_steps", "all")}),
        Case(script=PARSED, facts={FACT: ("---limit", "all")}),
        Case(script=SCRIPT, facts=GIVEN),
        Case(script=SCRIPT, facts={FACT: ("--learn=1e-5", "--out", "there")}),
        Case(script=SCRIPT, facts={FACT: None}),
        Case(
            script=SCRIPT.replace("parse_args()", "parse_known_args()[0]"),
            facts={FACT: ("--learning_rate", "1e-5", "--seed", "1")},
        ),
        Case(
            script=SCRIPT.replace("options =", "plugins.add_options(parser)\noptions =").replace(
                "import argparse\n", "import argparse\n\nimport plugins\n"
            ),
            facts={FACT: ("--learning_rate", "1e-5", "--seed", "1")},
        ),
    ),
    kinds=PROGRAMS,
)
