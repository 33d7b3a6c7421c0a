"""The fixes by which an argument of a trainer gets to its config: to the one it is given, or to one that is made for it."""

from collections.abc import Iterable
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.calls.renames import renamed
from holdfast.core.check.finding import Fix
from holdfast.core.job.api import CallSignature
from holdfast.core.job.calls import Call, CallResult, LibraryName, LocalName
from holdfast.core.job.document import ABSENT, Document, Edit, Remove, ReplaceCall, Set
from holdfast.core.job.source import SourceExpression, is_plain, render_value

PLAIN: Final = "transformers.TrainingArguments"


def moving_fix(job: Document, api: Api, call: Call, name: str, new: str) -> Fix | None:
    """Return the edits that move a value from a trainer's call to its config, where both are this job's.

    Args:
        job: The program.
        api: The versions that it gets.
        call: The trainer's call.
        name: The argument.
        new: Its name in the config.
    """
    value, made = call.arguments[name], job.call("train")
    if call.key != "trainer" or isinstance(value, CallResult | LibraryName | LocalName):
        return None
    if made is None:
        return _making_fix(call, name, config_of(call.path), new)
    if is_plain(value) and made.arguments.get(new, ABSENT) == value:
        return Fix(f"remove it: `{made.label}` sets it", (Remove(f"trainer.{name}"),))
    return _adding_fix(job, api, call, made, (name, new))


def _adding_fix(job: Document, api: Api, trainer: Call, made: Call, names: tuple[str, str]) -> Fix | None:
    """Return the edits that give a config a value of the trainer's, given its names in both; a plain config is recast as the trainer's own."""
    (name, new), config = names, config_of(trainer.path)
    recast = () if made.name == config.rpartition(".")[2] else recasting(api, made, config)
    if recast is None or new in made.arguments or made.via != "call" or made.open:
        return None
    title = f"move it to `{made.label}`"
    if recast:
        title = f"{spelled_recast(made, config, recast)}, and move `{name}` there"
    moved = Set(f"train.{new}", trainer.arguments[name], of=f"trainer.{name}")
    return Fix(title, (*recast, Remove(f"trainer.{name}"), moved), safe=is_used_once(job, made))


def _making_fix(call: Call, name: str, config: str, new: str) -> Fix | None:
    """Return the edits that give a trainer a config of its own, where it has none and makes one with the defaults."""
    kind, value = config.rpartition(".")[2], call.arguments[name]
    if "args" in call.arguments or len(call.positional) > 1 or call.open or call.via != "call" or not is_plain(value):
        return None
    model = next(iter(call.positional), call.arguments.get("model"))
    folder = f"{model.rpartition('/')[2]}-{kind.removesuffix('Config')}" if isinstance(model, str) else ""
    given = {**({"output_dir": folder} if folder else {}), new: value}
    made = SourceExpression(f"{kind}({', '.join(f'{each}={render_value(value)}' for each, value in given.items())})")
    edits = (
        ReplaceCall("trainer", f"{call.label}(…)", (config,)),
        Remove(f"trainer.{name}"),
        Set("trainer.args", made),
    )
    return Fix(f"give it `{kind}({new}=…)`", edits, safe=bool(folder))


def recasting(api: Api, call: Call, config: str) -> tuple[Edit, ...] | None:
    """Return the edits that make a trainer's own config of plain TrainingArguments; None if it is made of something else.

    What these leave to their defaults is said where the config has others.
    """
    plain, own = api.signature(PLAIN), api.signature(config)
    if call.path != PLAIN or plain is None or own is None or call.via != "call" or call.open:
        return None
    defaults = _differing_defaults(call, plain, own)
    if not all(map(is_plain, defaults.values())):
        return None
    name = config.rpartition(".")[2]
    return ReplaceCall(call.key, f"{name}(…)", (config,)), *(
        Set(f"{call.key}.{_newest_name(own, each, value)}", value) for each, value in defaults.items()
    )


def _differing_defaults(call: Call, plain: CallSignature, own: CallSignature) -> dict[str, Any]:
    """Return the defaults of TrainingArguments that a config has others for, of arguments that a call does not give."""
    given = {*call.arguments, *(("gradient_checkpointing",) if "activation_checkpointing" in call.arguments else ())}
    return {
        name: False if before.default is None else before.default
        for name, before in plain.parameters.items()
        if name not in given and name in own.parameters and own.parameters[name].default != before.default
    }


def _newest_name(config: CallSignature, name: str, value: Any) -> str:
    """Return the name that took an argument's place, where the config has it and the value means the same there."""
    change = renamed((config.path.rpartition(".")[2], PLAIN.rpartition(".")[2]), name)
    return change.new if change and change.new in config.parameters and change.keeps(value) else name


def spelled_recast(call: Call, config: str, edits: Iterable[Edit]) -> str:
    """Return in words what the edits of a recast do: what they make, and which defaults they write out."""
    written = [f"{edit.key.rpartition('.')[2]}={render_value(edit.value)}" for edit in edits if isinstance(edit, Set)]
    defaults = f", and write out the defaults that differ ({', '.join(written)})" if written else ""
    return f"replace `{call.name}` with `{config.rpartition('.')[2]}`{defaults}"


def is_used_once(job: Document, call: Call) -> bool:
    """True if what a call makes is given to one other call alone."""
    whole = CallResult(call.path, call.key)
    return sum(whole in (*each.positional, *each.arguments.values()) for each in job.calls) == 1


def config_of(path: str) -> str:
    """Return the path of the config class that a trainer is given, by the libraries' way of naming them.

    >>> config_of("trl.SFTTrainer"), config_of("transformers.Trainer")
    ('trl.SFTConfig', 'transformers.TrainingArguments')
    """
    ending = "TrainingArguments" if path.startswith("transformers.") else "Config"
    return path.removesuffix("Trainer") + ending if path.endswith("Trainer") else ""


def trainer_of(path: str) -> str:
    """Return the path of the trainer that takes a config class.

    >>> trainer_of("trl.SFTConfig"), trainer_of("transformers.TrainingArguments"), trainer_of("peft.LoraConfig")
    ('trl.SFTTrainer', 'transformers.Trainer', '')
    """
    ending = "TrainingArguments" if path.startswith("transformers.") else "Config"
    ours = path.startswith(("trl.", "transformers.")) and path.endswith(ending)
    return path.removesuffix(ending) + "Trainer" if ours else ""
