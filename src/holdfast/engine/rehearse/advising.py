"""The cause and the fix of a failed rehearsal in the script's own names: the argument, the value, the file and the line.

The page of a class of failure has all that can be done about it. Here stands what this failure takes: first what is known of
it beyond its log, else the sentences of the class that hold values of the log, else the first of those that hold none.
"""

import ast
import re
from collections.abc import Iterator
from shlex import quote
from typing import Final

from holdfast.catalog.calls.renames import renamed
from holdfast.core.diagnose.diagnosis import Cause
from holdfast.core.text.nearest import nearest
from holdfast.engine.diagnose.values import ABSENT
from holdfast.engine.rehearse.absence_advice import advise_absence
from holdfast.engine.rehearse.circumstances import MISSING_KEY, Advice, Circumstances, describe_function, listed
from holdfast.engine.rehearse.column_advice import advise_column
from holdfast.engine.rehearse.naming import CODE, GENERIC, OURS, split_sentences
from holdfast.engine.rehearse.reward_advice import advise_reward
from holdfast.engine.rehearse.source_code import nodes_of
from holdfast.engine.rehearse.tracebacks import FailingLine

DATA: Final = "dataset-"
SYNTAX: Final = ("SyntaxError", "IndentationError", "TabError")
UNWRITABLE: Final = re.compile(r"^TypeError: Object of type (\w+) is not JSON serializable")
UNDEFINED: Final = re.compile(r"^NameError: name '(\w+)' is not defined")
ATTRIBUTE: Final = re.compile(
    r"^AttributeError: (?:module '(?P<module>[\w.]+)'|(?:type object )?'(?P<kind>\w+)'(?: object)?) has no attribute '(?P<name>\w+)'"
)
NO_CHOICE: Final = re.compile(
    r"^\w+: '?(?P<value>[\w.-]+)'? is not a valid (?P<of>\w+), please select one of \[(?P<choices>.*)\]", re.DOTALL
)
NOT_SUPPORTED: Final = re.compile(
    r"Specified `(?P<of>\w+)=\"(?P<value>[^\"]+)\"` is not supported\. The only possible arguments are (?P<choices>.+)",
    re.DOTALL,
)
CHOICE: Final = re.compile(r"[\w|]+(?=\"?`)")
"""Of one of several arguments that a library lists: `"attn_implementation=sdpa"`."""
QUOTED: Final = re.compile(r"'([^']*)'")
ARGUMENT: Final = re.compile(r"^TypeError: (\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")
UNUSED: Final = re.compile(r"arguments are not used by the HfArgumentParser: \['(--[\w-]+)'")
OF_TRL: Final = re.compile(
    r"(?:SFT|DPO|GRPO|KTO|RLOO|Reward|ORPO|CPO|GKD|PPO|PRM|OnlineDPO|NashMD|XPO)(Config|Trainer)"
)
BASES: Final = {"Config": "TrainingArguments", "Trainer": "Trainer"}
"""What classes of TRL are made from, by the ends of their names."""
ASKED: Final = ("", "getattr", "getattribute")
"""Functions that raise for the line that asks: none, or what an object looks its attributes up with."""
ROWS: Final = "dataset-bad-row-values"
"""The class of rows with odd values: what good rows cannot cause."""
TWO_DEVICES: Final = re.compile(
    r"^RuntimeError: Expected all tensors to be on the same device(?:, but got (?P<name>\w+) is on)?"
)
TARGETS: Final = re.compile(r"Target modules (?P<asked>.+?) not found in the base model")
HEADED: Final = re.compile(
    r"'(?P<kind>\w+For(?P<task>SequenceClassification|TokenClassification))' object has no attribute 'prepare_inputs_for_generation'"
)
TASKS: Final = {"SequenceClassification": "SEQ_CLS", "TokenClassification": "TOKEN_CLS"}
LEFT: Final = re.compile(r"your features \(`(?P<column>\w+)` in this case\)")
LEFT_TEXT: Final = "dataset-field-case-mismatch"
UNTRAINED: Final = "no-trainable-parameters"
UNREAD: Final = "dataset-file-corrupt"
NO_GPU: Final = "no-gpu-visible"
PRECISION: Final = re.compile(r"\b(?:bf16|fp16|tf32)\b")
CONFIG: Final = "invalid-config-value"
"""The class of values that a config or a trainer refuses."""
NOT_CONVERSATIONAL: Final = "You set `assistant_only_loss=True`, but the dataset is not conversational"
SET: Final = re.compile(r"`(?P<name>\w+)=(?P<value>\w+)`")
"""A setting with its value, as messages quote it."""


def advise(cause: Cause, about: Circumstances) -> tuple[str, str]:
    """Return the cause and the fix of a failure, in as few words as are true of it."""
    found = next(_known_advice(cause.signature.name, about), None)
    because = found.cause if found and found.cause else _own_words(cause, about)
    fix = found.fix if found else _short(cause.fix, cause.signature.fix)
    return OURS.sub("", because), OURS.sub("", fix)


def _own_words(cause: Cause, about: Circumstances) -> str:
    """Return why a job failed: in the user's own code what raised, else the sentences that the log gave its values to."""
    name = cause.signature.name
    if name == CODE and about.is_job and not about.line:
        return f"{_first_line(about.error)}."
    if name in GENERIC and about.line and about.error:
        return _raised_words(about.line, about)
    first = next(iter(split_sentences(cause.cause)), "")
    because = _short(cause.cause, cause.signature.cause)
    # It begins with "it" where the first sentence has named it.
    return because if because[1:].startswith(first[1:]) else f"{first} {because}"


def _raised_words(line: FailingLine, about: Circumstances) -> str:
    """Return that a line of the user's own code raised, or left the script."""
    error = _first_line(about.error)
    if about.exited:
        return f"{describe_function(line)} leaves with `{error}`."
    if error.startswith(SYNTAX):
        return f"The job's Python does not understand {line.where}: {error}."
    calls = f"calls `{line.entered}`, which raises" if line.entered else "raises"
    return f"{describe_function(line)} {calls} {error}."


def _first_line(error: str) -> str:
    return error.strip().partition("\n")[0].rstrip(".")


def _short(filled: str, page: str) -> str:
    """Return the sentences that hold values of a log, else the first that holds none."""
    general = {sentence for each in split_sentences(page) if "{" not in (sentence := ABSENT.sub("", each))}
    sentences = split_sentences(filled)
    values = [sentence for sentence in sentences if sentence not in general]
    short = " ".join(values or sentences[:1]).replace(";.", ".")
    later = short.removeprefix("Or ")
    return short if later == short else later[:1].upper() + later[1:]  # a name of the Hub keeps its case


def _known_advice(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the advice on a failure beyond its log, the most certain first."""
    yield from _environment(about)
    yield from _precision(name, about)
    yield from _file_of_rows(name, about)
    yield from advise_column(name, about)
    yield from advise_reward(about)
    yield from _undefined(about)
    yield from _task(about)
    yield from _left_text(name, about)
    if name != ROWS:  # a value of a row may be what lacks it
        yield from _attribute(about)
    yield from _choice(about)
    yield from _arguments(name, about)
    yield from _own_objection(name, about)
    yield from advise_absence(name, about)
    yield from _unwritable(about)
    yield from _targets(about)
    yield from _device(name, about)
    yield from _untrained(name, about)
    yield from _unknown_setting(name, about)
    yield from _syntax(about)
    yield from _own_line(name, about)


def _device(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the tensor that the user's own line made on another device than the model's."""
    if name == CODE and about.line and (found := TWO_DEVICES.match(about.error)):
        moved = f"`{found['name']}`" if found["name"] else "the tensor that is elsewhere"
        yield Advice("", f"Move {moved} to the model's device{about.at}: `tensor.to(model.device)`, or make it there.")


def _untrained(name: str, about: Circumstances) -> Iterator[Advice]:
    if name == UNTRAINED and not about.adapted:
        yield Advice("", "Leave `requires_grad` of what is to be trained as it is, or train an adapter.")


def _unknown_setting(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the advice on a job file of which no key is known to be at fault."""
    if name == CODE and about.is_job and not about.line:
        checks = f"`holdfast check {quote(about.target)}` checks each"
        yield Advice("", f"Look at the settings that the message is about; {checks}.")


def _syntax(about: Circumstances) -> Iterator[Advice]:
    if about.line and about.error.startswith(SYNTAX):
        yield Advice(
            "", f"Correct {about.line.where}, or run the job with a newer Python, if that understands the line."
        )


def _own_line(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the advice on a line of the user's own of which no more is known than that it raised, or left the script."""
    if name not in GENERIC:
        return
    if about.exited:
        yield Advice("", f"Correct what the script complains about, or the condition under which it leaves{about.at}.")
    if about.line:
        yield Advice("", f"Correct {_named(about.line)}.")


def _named(line: FailingLine) -> str:
    return f"`{line.function}` at {line.where}" if line.function else line.where


def _environment(about: Circumstances) -> Iterator[Advice]:
    """Yield the variable that a script reads and that is not set."""
    missing = MISSING_KEY.match(about.error)
    if missing and about.line and re.search(rf"environ\[['\"]{re.escape(missing[1])}['\"]\]", about.line.code):
        how = "`environment.variables`" if about.is_job else f"`{missing[1]}=… holdfast rehearse {quote(about.target)}`"
        yield Advice(
            f"The script reads the environment variable `{missing[1]}`, which is not set.",
            f"Set it: {how}, and likewise where the job will run.",
        )


def _precision(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the setting that trains on a machine without a GPU, where a precision is refused for want of one."""
    if name == NO_GPU and (precision := PRECISION.search(about.error)):
        yield Advice(
            f"`{precision[0]}` asks for a GPU, and this process finds none.",
            f"Write `use_cpu=True` or `{precision[0]}=False`{about.at} to train on the processor, or run the job on a GPU.",
        )


def _file_of_rows(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the command that names each line of a data file which cannot be read."""
    if name == UNREAD and about.inspected:
        yield Advice(
            "",
            f"Correct or remove the lines that `holdfast inspect {about.inspected}` names, or get the file again.",
        )


def _task(about: Circumstances) -> Iterator[Advice]:
    """Yield the task of an adapter that was made for a model which generates text, and put on one with another head."""
    if found := HEADED.search(about.error):
        kind, task = found["kind"], TASKS[found["task"]]
        yield Advice(
            f"The adapter is one of a model that generates text, and `{kind}` does not: its `task_type` is `CAUSAL_LM`.",
            f'Write `task_type="{task}"`{about.at}, so that the new head is trained and saved too.',
        )


def _left_text(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the column of text that a script keeps in its batches, since it has columns kept that no model takes."""
    found = LEFT.search(about.error)
    if name == LEFT_TEXT and found and about.keeps_columns:
        column = found["column"]
        yield Advice(
            f"`remove_unused_columns=False` leaves the column `{column}` in the batches, and the collator cannot make tensors of text.",
            f'Remove it where the rows are tokenized (`remove_columns=["{column}"]`), or leave `remove_unused_columns` on{about.at}.',
        )


def _undefined(about: Circumstances) -> Iterator[Advice]:
    """Yield the name that was meant by one that is not defined."""
    found = UNDEFINED.match(about.error)
    if not found or not about.line:
        return
    known = names_in(about.sources.get(about.line.path, "")) - {found[1]}
    near = nearest(found[1], tuple(sorted(known)), cutoff=0.75)
    meant = f"Write `{near}` instead of `{found[1]}`" if near else f"Define or import `{found[1]}` before it is used"
    yield Advice(f"{describe_function(about.line)} uses `{found[1]}`, which is not defined.", f"{meant}{about.at}.")


def _attribute(about: Circumstances) -> Iterator[Advice]:
    """Yield the advice on an attribute that a line of the user's own reads, and that the object lacks."""
    found = ATTRIBUTE.match(about.error)
    if not found or not about.line or about.line.entered.strip("_") not in ASKED:
        return
    name = found["name"]
    whom = (
        f"`{found['module']}`" if found["module"] else "None" if found["kind"] == "NoneType" else f"a `{found['kind']}`"
    )
    release = ", or install a release that has it" if found["module"] else ""
    yield Advice(
        f"{describe_function(about.line)} asks {whom} for `{name}`, which it does not have.",
        f"Correct `{name}`{about.at}{release}.",
    )


def names_in(source: str) -> set[str]:
    """Return the names that a module binds or imports, whatever function they stand in."""
    nodes = nodes_of(source)
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    found |= {node.asname or node.name.split(".")[0] for node in nodes if isinstance(node, ast.alias)}
    return found | {
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


def _choice(about: Circumstances) -> Iterator[Advice]:
    """Yield the choice that is nearest to one that there is not."""
    if found := NO_CHOICE.match(about.error):
        choices = tuple(QUOTED.findall(found["choices"]))
        near = nearest_choice(found["value"], choices)
    elif found := NOT_SUPPORTED.search(about.error):
        choices, near = tuple(CHOICE.findall(found["choices"])), None
    else:
        return
    taken = f"`{about.key or found['of']}`"
    fix = f"Write `{near}`" if near else f"Take one of {listed(choices)}"
    yield Advice(f"{taken} takes no `{found['value']}`.", f"{fix}{about.at}.")


def nearest_choice(value: str, choices: tuple[str, ...]) -> str | None:
    """Return the choice that was meant: one of the same words in another order, else the nearest.

    >>> nearest_choice("adamw_8bit_torch", ("adamw_torch", "adamw_torch_8bit"))
    'adamw_torch_8bit'
    """
    words = sorted(value.split("_"))
    return next((each for each in choices if sorted(each.split("_")) == words), None) or nearest(value, choices)


def _argument(about: Circumstances) -> Iterator[Advice]:
    """Yield the argument that a class does not take."""
    if found := ARGUMENT.match(about.error):
        known = _renaming(found[1], found[2], about.at)
        checked = f"`holdfast check {quote(about.target)}` knows what became of it"
        fix = known or f"Rename or remove `{found[2]}`{about.at}; {checked}."
        yield Advice(f"`{found[1]}` takes no argument `{found[2]}`.", fix)


def _arguments(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the argument, or the flag, that settings do not take, or the value that does not go with another."""
    yield from _argument(about)
    yield from _flag(about)
    yield from _setting(name, about)


def _flag(about: Circumstances) -> Iterator[Advice]:
    """Yield the flag of a command line that a library's settings do not have any more."""
    found = UNUSED.search(about.error)
    flag = found[1] if found else ""
    if fix := _renaming("TrainingArguments", flag.strip("-"), about.at):
        yield Advice(f"The settings have no `{flag}`.", fix)


def _renaming(kind: str, old: str, at: str) -> str:
    """Return the change of an argument that a class no longer takes, as a sentence; empty if it is not known."""
    of_trl = OF_TRL.fullmatch(kind)
    change = renamed([kind, BASES[of_trl[1]]] if of_trl else [kind], old)
    if change is None or not (change.new or change.note):
        return ""
    note = f": {change.note}" if change.note else ""
    new = change.new if change.switch is None else f"{change.new}={change.switch!r}"
    return f"Write `{new}` for `{old}`{at}{note}." if change.new else f"Remove `{old}`{at}{note}."


def _setting(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the setting that a message quotes with its value, and that does not go with something else."""
    if name != CONFIG:
        return
    if NOT_CONVERSATIONAL in about.error:
        has = f"; they have {listed(about.columns)}" if about.columns else ""
        shown = (
            f"`holdfast inspect {about.inspected}` shows" if about.inspected else "`holdfast inspect` on the data shows"
        )
        yield Advice(
            f"`assistant_only_loss=True` needs rows that are messages when the trainer is made{has}.",
            f"Remove `assistant_only_loss=True`{about.at}, or make messages of the rows before: {shown} how.",
        )
    elif len(quoted := set(SET.findall(about.error))) == 1:
        ((setting, value),) = quoted
        yield Advice("", f"Change `{setting}={value}`{about.at}, or the setting that the message names beside it.")


def _targets(about: Circumstances) -> Iterator[Advice]:
    """Yield the modules that an adapter can be made for in this very model."""
    found = TARGETS.search(about.error)
    layers = tuple(name for name in about.modules if "embed" not in name)
    if found and layers:
        asked = ", ".join(f"`{name}`" for name in sorted(QUOTED.findall(found["asked"])) or [found["asked"]])
        yield Advice(
            f"The model has no modules {asked}.",
            f"Name modules of this model in `target_modules`{about.at}: {listed(layers)}; or write `all-linear`.",
        )


def _own_objection(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield what the script itself complains about, in words that a library uses too."""
    if about.line and not about.line.entered and about.line.code.startswith("raise ") and name.startswith(DATA):
        error = _first_line(about.error)
        yield Advice(
            f"{describe_function(about.line)} itself raises {error}.",
            f"Correct what it complains about, or the condition{about.at}.",
        )


def _unwritable(about: Circumstances) -> Iterator[Advice]:
    """Yield the value that cannot be written as JSON, such as the type of a model's weights in the settings of a tokenizer."""
    found = UNWRITABLE.match(about.error)
    if found and about.line and about.line.entered:
        yield Advice(
            f"`{about.line.entered}` writes settings as JSON, and one of them is a `{found[1]}`.",
            f"Look what was given to the tokenizer, the model's configuration or the arguments before {about.line.where}: "
            f'a tokenizer takes no `dtype`, and a type can be written as text, `"bfloat16"`.',
        )
