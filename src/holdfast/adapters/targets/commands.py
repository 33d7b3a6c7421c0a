"""Command lines: one that a user gives after `--`, or those of a shell script or a Makefile, with the scripts they run."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from holdfast.adapters.declared.installs import read_commands as read_installing_commands
from holdfast.adapters.foreign_files import is_folder
from holdfast.adapters.readers.command_line import CommandLine, command_document, read_commands, with_launch
from holdfast.adapters.readers.command_line.accelerate import add_accelerate_config
from holdfast.adapters.readers.command_line.edits import place_edits as place_command_edits
from holdfast.adapters.readers.command_line.launchers import NOT_SAID, Launch, is_hidden
from holdfast.adapters.readers.command_line.programs import StartedCommand
from holdfast.adapters.readers.command_line.slurm import read_directives
from holdfast.adapters.readers.command_line.words import placed_exports
from holdfast.adapters.readers.command_line.working_folder import is_lost
from holdfast.adapters.readers.script.edits import place_edits as place_script_edits
from holdfast.adapters.readers.settings import ENDINGS
from holdfast.adapters.secrets import mask
from holdfast.adapters.targets import PlaceEdits, Target, missing_file, read_text
from holdfast.adapters.targets.jobs import PARTS, place_foreign_edits
from holdfast.adapters.targets.recipes import read_recipe_documents, recipe_name
from holdfast.adapters.targets.siblings import SiblingSettings, read_documents
from holdfast.core.errors import Spot, UsageError
from holdfast.core.job.document import Document, Edit, Key, Set, Unknown, apply_edits
from holdfast.core.run.backends import BACKEND_KEY, HF_JOBS, BackendCapabilities, capabilities_of
from holdfast.core.text.addresses import WEB
from holdfast.core.text.places import Place, TextEdit
from holdfast.core.text.redact import is_secret

COMMAND_LINE = "command line"
MAKE_VARIABLE = re.compile(r"^(?P<name>\w+)\s*[:?]?=\s*(?P<value>[^$\n]*?)\s*$", re.MULTILINE)
MODULE = re.compile(r"\w+(?:\.\w+)*")
HIGHEST = 4
"""Folders to go up at most."""
INSTALLED = "launch.installs"
ARGUMENTS: Final = "launch.arguments"
ABSENT: Final = ("launch", "absent")
HIDDEN: Final = "which only the shell knows"
NOT_FOUND: Final = "which is not found"
BRINGS: Final = re.compile(
    r"\b(?:git\s+clone|wget|curl|hf|huggingface-cli|aws|gsutil|gcloud|tar|unzip|cp|mv|rsync|scp|ln|envsubst)\b"
)
"""Commands that may bring files along."""
MAKE_RULE = re.compile(r"^(?P<targets>[^\s#:=][^#:=]*):(?![:=])(?P<needed>[^#=\n]*)")
RECIPE = re.compile(r"^\t[@+-]*")


def read(text: str, path: str, _: tuple[str, ...], __: tuple[str, ...]) -> Target:
    """Read a shell script or a Makefile.

    Raises:
        UsageError: Nothing in it trains, or a script that it runs cannot be read.
    """
    shell = recipes(text) if _is_makefile(path) else text
    batch = read_directives(text, path)
    lines = read_commands(shell, path)
    _note_exported_secrets(lines, shell, path)
    documents = tuple(_batch_documents(lines, text, path, batch))
    documents = documents or tuple(_unknown_document(line, text, path) for line in lines if _is_hidden(line))
    if not documents:
        raise _nothing_trains(lines, path)
    absent = (_unknown_document(line, text, path, NOT_FOUND) for line in lines if _lacks_script(line, path))
    return Target(documents=(*documents, *absent), place_edits=place_edits)


def _is_makefile(path: str) -> bool:
    return Path(path).name.lower() == "makefile" or path.endswith(".mk")


def _batch_documents(lines: Iterable[CommandLine], text: str, path: str, batch: Launch | None) -> Iterator[Document]:
    """Yield the documents of all commands, with the settings of the batch script that they stand in."""
    for line in lines:
        documents = read_line_documents(line, text, path)
        yield from (with_launch(each, batch) for each in documents) if batch else documents


def read_line(words: Iterable[str]) -> Target:
    """Read the words of one command line.

    Raises:
        UsageError: They start no training, or the script that they run cannot be read.
    """
    return read(shlex.join(words), COMMAND_LINE, (), ())


def recipes(makefile: str) -> str:
    """Return a Makefile as the shell sees it: recipes with plain variables put in, and other lines empty.

    Of the automatic variables `$@`, `$<` and `$^` are put in, as the rule above the recipe has them. Places stay right
    only up to the first variable of a line.
    """
    variables = {found["name"]: found["value"] for found in MAKE_VARIABLE.finditer(makefile)}
    lines: list[str] = []
    automatic: dict[str, str] = {}
    for line in makefile.split("\n"):
        if rule := MAKE_RULE.match(line):
            targets, needed = rule["targets"].split(), rule["needed"].split()
            automatic = {"$@": targets[0], "$<": next(iter(needed), ""), "$^": " ".join(needed)}
        lines.append(_recipe(line, variables, automatic))
    return "\n".join(lines)


def _recipe(line: str, variables: Mapping[str, str], automatic: Mapping[str, str]) -> str:
    found = RECIPE.match(line)
    if found is None:
        return ""
    text = " " * len(found[0]) + line[found.end() :]
    for name, value in automatic.items():
        text = text.replace(name, value)
    for name, value in variables.items():
        text = text.replace(f"$({name})", value).replace(f"${{{name}}}", value)
    return text.replace("$$", "$")


def read_line_documents(line: CommandLine, text: str, path: str) -> Iterator[Document]:
    """Yield the Document of one command: its own, where a library is its program, else that of the script that it runs.

    Args:
        line: The command.
        text: The source that it stands in.
        path: That source's name; a script and files of settings are looked for from here, then beside it.

    Raises:
        UsageError: It is checked by itself, runs here, and names a file of settings that is not there.
    """
    files = SiblingSettings(*_folders(path, line))
    _add_installed(line, Path(path).parent)
    absent = partial(_with_absent, line=line, files=files, text=text)
    yield from map(absent, _line_documents(line, text, path, files))
    if path == COMMAND_LINE and _backend(line).shares_files:
        files.require((word.text for word in line.words), path)


def _backend(line: CommandLine) -> BackendCapabilities:
    """Return the backend that a command sends its program to."""
    return capabilities_of(line.launch.values.get(BACKEND_KEY))


def _line_documents(line: CommandLine, text: str, path: str, files: SiblingSettings) -> Iterator[Document]:
    program = line.program
    if program is None:
        yield from _own_documents(line, text, path, files)
    elif _is_sent_from_web(line, program):
        yield _web_document(line, program, text, path)
    elif recipe_name(program):
        documents = read_recipe_documents(program, _folders(path, line))
        yield from (with_launch(each, line.launch) for each in documents)
    else:
        yield from _script_documents(line, program, path, files) or _own_documents(line, text, path, files)


def _is_sent_from_web(line: CommandLine, program: StartedCommand) -> bool:
    """True if Hugging Face Jobs loads the script from its address."""
    return program.name.text.startswith(WEB) and _backend(line) is HF_JOBS


def _web_document(line: CommandLine, program: StartedCommand, text: str, path: str) -> Document:
    """Return the Document of a script that is not on this machine: its address alone is known."""
    values = {"script": program.name.text}
    at: dict[Key, Place] = {("script",): program.name.place}
    return with_launch(Document(path=path, kind="command", text=text, values=values, places=at), line.launch)


def _script_documents(line: CommandLine, program: StartedCommand, path: str, files: SiblingSettings) -> list[Document]:
    """Return the Documents of the script that a command runs; empty if it runs none, or it is not found."""
    name = _script_name(program)
    if not name:
        return []
    arguments = tuple(word.text if word.known else NOT_SAID for word in program.arguments)
    hidden = [program.name.place] * line.launch.hides_arguments
    places = (*hidden, *(word.place for word in program.arguments))
    _note_arguments(line, program)
    add_accelerate_config(line.launch, files)
    given = (*[NOT_SAID] * len(hidden), *arguments)
    found = read_script_documents(name, _folders(path, line), given, files, places)
    return [with_launch(document, line.launch) for document in found]


def _own_documents(line: CommandLine, text: str, path: str, files: SiblingSettings) -> Iterator[Document]:
    """Yield the Document of a command whose program is a library's; of one that hides which script it runs, an unknown one."""
    if document := command_document(line, text, path, files):
        yield document
    elif _hides_script(line):
        yield _unknown_document(line, text, path)


def _hides_script(line: CommandLine) -> bool:
    """True if the shell alone knows a command's program, and one of its words is a script."""
    if line.program is None or not is_hidden(line.program.name) or _script_name(line.program):
        return False
    return any(word.text.endswith(".py") for word in line.words)


def _note_exported_secrets(lines: Iterable[CommandLine], shell: str, path: str) -> None:
    """Note the secrets that a shell's text exports, as variables of each of its commands."""
    for name, (value, place) in placed_exports(shell, path).items():
        if is_secret(name, value):
            mask([value])
            for line in lines:
                line.launch.values.setdefault(f"environment.variables.{name}", value)
                line.launch.places.setdefault(("environment", "variables", name), place)


def _note_arguments(line: CommandLine, program: StartedCommand) -> None:
    """Note the words that the script is given, each at its place; all of them at that of the script's name."""
    line.launch.say(ARGUMENTS, [], program.name.place)
    if line.launch.hides_arguments:
        line.launch.add(ARGUMENTS, NOT_SAID, program.name.place)
    for word in program.arguments:
        line.launch.add(ARGUMENTS, word.text if word.known else NOT_SAID, word.place)


def _is_hidden(line: CommandLine) -> bool:
    """True if the shell alone knows what a command runs."""
    return line.program is not None and is_hidden(line.program.name)


def _lacks_script(line: CommandLine, path: str) -> bool:
    """True if a command runs a script that is not here."""
    name = line.program.name if line.program and line.program.kind == "script" else None
    if name is None or not name.known or not name.text.endswith(".py") or name.text.startswith(WEB):
        return False
    return _script_path(name.text, _folders(path, line)) is None


def _unknown_document(line: CommandLine, text: str, path: str, why: str = HIDDEN) -> Document:
    """Return the Document of a command of which nothing is known: each of its parts says why."""
    first = line.words[0]
    name = line.program.name.text if line.program else first.text
    because = Unknown(f"line {first.place.line} runs `{name}`, {why}")
    return Document(path=path, kind="command", text=text, values=dict.fromkeys(PARTS, because))


def _with_absent(document: Document, *, line: CommandLine, files: SiblingSettings, text: str) -> Document:
    """Return a document with the files of settings that its command names, and that are surely not there."""
    absent = _surely_absent(line, files, text)
    if not absent:
        return document
    places: dict[Key, Place] = {(*ABSENT, index): place for index, place in enumerate(absent.values())}
    values = apply_edits(document.values, [Set(".".join(ABSENT), [*absent])])
    return replace(document, values=values, places={**document.places, **places})


def _surely_absent(line: CommandLine, files: SiblingSettings, text: str) -> dict[str, Place]:
    """Return the files of settings that a command names and that are surely not there, each with the place of its name.

    Nothing is sure where the command runs elsewhere, or where the shell's text may make or bring such a file.
    """
    if not _backend(line).shares_files or is_lost(line.before) or not files.missing or BRINGS.search(text):
        return {}
    named = {files.named(word.text): word.place for word in line.words if word.known}
    return {name: place for name, place in named.items() if name in files.missing and _only_read(name, text)}


def _only_read(name: str, text: str) -> bool:
    """True if a shell's text mentions a file only as the value of options."""
    references = len(re.findall(rf"(?<![\w.-]){re.escape(Path(name).name)}(?![\w.-])", text))
    return references == len(re.findall(rf"--[\w-]*config\w*[ =\t]+[\"']?{re.escape(name)}(?![\w.-])", text))


def _nothing_trains(lines: Iterable[CommandLine], path: str) -> UsageError:
    """Return the error that no command starts a training: with the first script that is not there, if one is named."""
    for line in lines:
        name = line.program.name if line.program and _lacks_script(line, path) else None
        if name:
            return missing_file(str(line.folder / name.text), Spot(path, name.place.line, name.place.column))
        recipe = recipe_name(line.program) if line.program else None
        if recipe and not recipe.text.startswith(WEB):
            return missing_file(str(line.folder / recipe.text), Spot(path, recipe.place.line, recipe.place.column))
    fix = "name the script itself, or a file whose commands start one"
    return UsageError(f"{path} runs no training that is known here", where=path, fix=fix)


def _script_name(program: StartedCommand) -> str:
    """Return the file that a program is, of a module too; empty if it is none."""
    if program.kind == "module" and MODULE.fullmatch(program.name.text):
        return f"{program.name.text.replace('.', '/')}.py"
    return program.name.text if program.kind == "script" else ""


def _folders(path: str, line: CommandLine) -> tuple[Path, ...]:
    """Return where the files that a command names may lie: from here, beside its source, above that.

    Where it goes elsewhere first, they lie there. What is not on this machine may be a copy of what is: an absolute path,
    and a folder that is called like one of these, which the commands may have cloned.
    """
    beside = Path(path).parent
    above = next((n for n, each in enumerate((beside, *beside.parents)) if (each / ".git").exists()), HIGHEST)
    starts = (Path(), beside, *beside.parents[: min(above, HIGHEST)])
    gone = line.folder
    there = tuple(folder / gone for folder in starts)
    if any(map(is_folder, there)):
        return there
    copied = gone.is_absolute() or gone.parts[0] in {each.absolute().name for each in starts}
    return starts if copied else there


def read_script_documents(
    name: str,
    folders: Sequence[Path],
    arguments: tuple[str | Unknown, ...] | None,
    files: SiblingSettings,
    places: Sequence[Place] = (),
) -> tuple[Document, ...]:
    """Return the Documents of a script that a command names; empty if it is not found.

    Args:
        name: The script.
        folders: Where it may lie.
        arguments: What the script is given; None if that is not known.
        files: Gives the settings of a file that they name.
        places: Where each argument is written.

    Raises:
        UsageError: It cannot be read, or is not valid Python.
    """
    script = _script_path(name, folders)
    if script is None:
        return ()
    return read_documents(read_text(script), script, arguments, files, places)


def _add_installed(line: CommandLine, folder: Path) -> None:
    """Note what the commands before one install."""
    for words in line.before:
        if all(word.known for word in words):
            for command in read_installing_commands(shlex.join(word.text for word in words), words[0].place, folder):
                for each in command.found.requirements:
                    line.launch.add(INSTALLED, each.text, words[0].place)


def _script_path(name: str, folders: Sequence[Path]) -> str | None:
    if not name.endswith(".py"):
        return None
    try:
        return next((str(folder / name) for folder in folders if (folder / name).is_file()), None)
    except (OSError, ValueError):  # no name of a file at all
        return None


def place_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits, in the command, or in the script or the recipe that it runs.

    Raises:
        UsageError: One of them cannot be made.
    """
    return _placer(document)(document, edits)


def _placer(document: Document) -> PlaceEdits:
    if document.kind != "command":
        return place_script_edits
    return place_foreign_edits if document.path.endswith(ENDINGS) else place_command_edits
