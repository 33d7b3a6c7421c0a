"""Reward that TRL's command line does not know.

## What it does
Checks the `--reward_funcs` of `trl grpo` and `trl rloo` for names that are neither TRL's own rewards nor a dotted
path, such as `accuracy`, and for files with a function, such as `rewards.py:score`.

## Why is this bad
The command takes the names of a few of TRL's functions, and `module.function` for any other, which it imports from
the current folder. It ends with `ValueError: Could not load reward function 'accuracy'`, or with an import error.

## Fix safety
The fix is unsafe: it writes the nearest name, and you may mean another one.
"""

from collections.abc import Iterator
from typing import Any, Final

from holdfast.catalog.trl_rewards import ON_COMMAND_LINE
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Set, Unknown
from holdfast.core.text.nearest import nearest

NAME: Final = "reward_funcs"
COMMANDS: Final = ("trl grpo", "trl rloo")
FILE: Final = ".py:"
SUFFIX: Final = "_reward"


def check(job: Document) -> Iterator[Finding]:
    """Report each reward that the command cannot load."""
    for call in job.calls:
        if _loads_rewards(call):
            given = call.arguments[NAME]
            for name in given if isinstance(given, list) else [given]:
                if hint := _hint(name):
                    yield _finding(f"{call.key}.{NAME}", given, name, hint)


def _loads_rewards(call: Call) -> bool:
    """True if a call is a command that loads the named rewards; a recipe of a script may have names of its own."""
    own_recipe = call.open and NAME in call.defaults
    return call.path in COMMANDS and NAME in call.arguments and not own_recipe


def _hint(name: object) -> str:
    """Return what to write instead of a name; empty where the command may load it."""
    if not isinstance(name, str) or name in ON_COMMAND_LINE:
        return ""
    if FILE in name:
        return name.replace(FILE, ".").replace("/", ".")
    return "" if "." in name else _similar(name)


def _similar(name: str) -> str:
    """Return the known name that is likely meant, or the form that a name of the user's own has."""
    parts = ((each, (each.removesuffix(SUFFIX), _last(each))) for each in ON_COMMAND_LINE)
    same = next((each for each, words in parts if name in words), None)
    return same or nearest(name, ON_COMMAND_LINE) or "module.function"


def _last(name: str) -> str:
    return name.removesuffix(SUFFIX).rpartition("_")[2]


def _finding(key: str, given: Any, name: str, hint: str) -> Finding:
    known = hint in ON_COMMAND_LINE or FILE in name
    advice = f"did you mean `{hint}`?" if known else f"write `{hint}`, or one of {', '.join(ON_COMMAND_LINE)}"
    fix = _writing(key, given, name, hint) if known else None
    return Finding(key, f"trl knows no reward `{name}`: {advice}", fix)


def _writing(key: str, given: Any, name: str, new: str) -> Fix | None:
    """Return the edit that writes another name; None if the source hides some of the others."""
    title = f"write `{new}`"
    if not isinstance(given, list):
        return Fix(title, (Set(key, new),), safe=False)
    if any(isinstance(each, Unknown) for each in given):
        return None
    return Fix(title, (Set(key, [new if each == name else each for each in given]),), safe=False)


COMMAND = "trl grpo --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/DeepMath-103K --reward_funcs accuracy_reward rewards.score\n"

RULE = Rule(
    code="RWD116",
    name="unknown-reward-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="trl 1.16, tried: `ValueError: Could not load reward function 'accuracy'`. The scripts of five older releases were read.",
    bad=(
        Case(
            command=COMMAND.replace("accuracy_reward", "accuracy"),
            at="train.reward_funcs",
            fixed=COMMAND,
        ),
        Case(command=COMMAND.replace("rewards.score", "rewards.py:score"), at="train.reward_funcs", fixed=COMMAND),
        Case(command=COMMAND.replace("accuracy_reward rewards.score", "brevity"), at="train.reward_funcs"),
    ),
    good=(
        Case(command=COMMAND),
        Case(command=COMMAND.replace("accuracy_reward", "think_format_reward get_soft_overlong_punishment")),
        Case(command=COMMAND.replace("accuracy_reward", '"$REWARD"')),
    ),
    kinds=PROGRAMS,
)
