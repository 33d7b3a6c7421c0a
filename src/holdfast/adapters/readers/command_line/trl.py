"""A command of TRL's, such as `trl sft --config recipe.yaml --num_processes 4`, as one call of it.

What the parser of a command finds in the file of `--config` becomes its defaults, so that the command line counts before
it. What no dataclass of the command takes goes to `accelerate launch`. The script that a command starts can be started
without it: `python -m trl.scripts.sft`, or by its path. Such a script hands nothing on.

Source: `trl/cli` and `trl/scripts/utils.py` of TRL 1.16, tried.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.readers.command_line.accelerate import add_accelerate_config
from holdfast.adapters.readers.command_line.commands import CommandLine
from holdfast.adapters.readers.command_line.launched import with_launch
from holdfast.adapters.readers.command_line.launchers import Launch, read_number
from holdfast.adapters.readers.command_line.programs import Flag, StartedCommand, read_flags
from holdfast.adapters.readers.command_line.words import Word
from holdfast.adapters.readers.settings import SettingsFiles, plain
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Key
from holdfast.core.text.places import Place

CONFIG, ENV = "config", "env"
SCRIPTS: Final = {
    "module": re.compile(r"^trl\.scripts\.(?P<method>\w+)$"),
    "script": re.compile(r"(?:^|/)trl/scripts/(?P<method>\w+)\.py$"),
}
"""How the scripts are named that TRL's commands start."""
TRAINS: Final = frozenset({"sft", "dpo", "grpo", "reward", "kto", "rloo", "distillation"})
LAUNCHED_BY: Final = {
    "num_processes": "where.world_size",
    "num_machines": "where.nodes",
    "mixed_precision": "where.mixed_precision",
    "config_file": "where.accelerate_config",
    "accelerate_config": "where.accelerate_config",
}
"""What is handed on to `accelerate launch`."""
FIELDS: Final = {
    "model_name_or_path": "model.path",
    "model_revision": "model.revision",
    "dtype": "model.dtype",
    "torch_dtype": "model.dtype",
    "attn_implementation": "model.attn_implementation",
    "trust_remote_code": "model.trust_remote_code",
    "dataset_name": "dataset.path",
    "dataset_config": "dataset.config",
    "dataset_train_split": "dataset.split",
    "dataset_streaming": "dataset.streaming",
    "load_in_4bit": "quantization.load_in_4bit",
    "load_in_8bit": "quantization.load_in_8bit",
}


def no_files(_: str) -> None:
    """Give no settings of any file."""


def command_document(line: CommandLine, text: str, path: str, files: SettingsFiles = no_files) -> Document | None:
    """Return a TRL command as one call of it; None if the command does not train.

    Args:
        line: The command.
        text: The source that it stands in.
        path: Its name.
        files: Gives the settings of a file that the command names.
    """
    found = _method(line.program) if line.program else None
    if line.program is None or found is None:
        return None
    method, words = found
    flags = read_flags(words)
    configs = [_settings(flag, files) for flag in flags if flag.name == CONFIG]
    given = _given(flags, configs)
    call = _call(line, method, flags, given, is_open=None in configs or not all(word.known for word in words))
    return with_launch(_document(call, method.text, given, text, path), _launch(line, given, files))


def _document(call: Call, method: str, given: Mapping[str, Flag], text: str, path: str) -> Document:
    train = {name: plain(value) for name, value in call.arguments.items()}
    return Document(
        path=path,
        kind="command",
        text=text,
        values={"method": method, "train": train, **_model_and_data(call.arguments)},
        places={("train", name): flag.place for name, flag in given.items()},
        key_places={("train", name): flag.key_place for name, flag in given.items()},
        calls=(call,),
    )


def _method(program: StartedCommand) -> tuple[Word, Sequence[Word]] | None:
    """Return the method that a program of TRL's trains with, and its flags; None if it is another program."""
    if program.kind == "library" and program.name.text == "trl" and program.arguments:
        method, words = program.arguments[0], program.arguments[1:]
    elif found := SCRIPTS[program.kind].search(program.name.text) if program.kind in SCRIPTS else None:
        method, words = replace(program.name, text=found["method"]), program.arguments
    else:
        return None
    return (method, words) if method.text in TRAINS else None


def _call(line: CommandLine, method: Word, flags: Sequence[Flag], given: Mapping[str, Flag], *, is_open: bool) -> Call:
    """Return a command as the call that it is."""
    return Call(
        path=f"trl {method.text}",
        label=f"trl {method.text}",
        key="train",
        arguments={name: flag.value for name, flag in given.items()},
        open=is_open,
        place=_whole(line),
        name_place=method.place,
        via="parser",
        defaults=frozenset(given) - {flag.name for flag in flags},
    )


def _settings(flag: Flag, files: SettingsFiles) -> Document | None:
    return files(flag.value) if isinstance(flag.value, str) else None


def _given(flags: Sequence[Flag], configs: Sequence[Document | None]) -> dict[str, Flag]:
    """Return the parser's values by name: the last on the command line, else that of a file."""
    given: dict[str, Flag] = {}
    for config in filter(None, configs):
        given |= {name: _flag_of_file(config, name) for name in config.values}
    given |= {flag.name: flag for flag in flags}
    return {name: flag for name, flag in given.items() if name not in (CONFIG, ENV)}


def _flag_of_file(config: Document, name: str) -> Flag:
    key: Key = (name,)
    place = config.places.get(key, Place(config.path, 1, 1))
    return Flag(name, config.values[name], config.key_places.get(key, place), place)


def _launch(line: CommandLine, flags: Mapping[str, Flag], files: SettingsFiles) -> Launch:
    """Return the launch that the launchers describe, with the options that the command passes to accelerate."""
    joined = replace(line.launch, values=dict(line.launch.values), places=dict(line.launch.places))
    passed_on = flags if line.program and line.program.kind == "library" else {}
    for name, key in LAUNCHED_BY.items():
        if name in passed_on:
            joined.say(key, read_number(passed_on[name].value), passed_on[name].place)
    add_accelerate_config(joined, files, packaged=True)
    return joined


def _model_and_data(arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    parts: dict[str, dict[str, Any]] = {}
    for name, value in arguments.items():
        if name in FIELDS:
            part, _, key = FIELDS[name].partition(".")
            parts.setdefault(part, {})[key] = value
    return parts


def _whole(line: CommandLine) -> Place:
    words: Sequence[Word] = line.words
    first, last = words[0].place, words[-1].place
    return Place(first.path, first.line, first.column, last.end_line, last.end_column)
