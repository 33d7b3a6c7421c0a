"""What a script's calls of `run_uv_job` and `run_job` send to Hugging Face Jobs: the script or the command that will run.

Covered: a script that lies beside, given by its name; a command written out as a list. Not covered: inline code, URLs,
files of an image. Source: `run_uv_job` and `run_job` of huggingface_hub 0.34 to 2.4.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeGuard

from holdfast.adapters.readers.command_line.commands import read_program_lines
from holdfast.adapters.readers.command_line.launched import with_launch
from holdfast.adapters.readers.command_line.launchers import Launch
from holdfast.adapters.readers.command_line.words import Word
from holdfast.adapters.targets.commands import read_line_documents, read_script_documents
from holdfast.adapters.targets.siblings import SiblingSettings
from holdfast.catalog.hub.jobs import IMAGES, UV
from holdfast.core.errors import UsageError
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.run.backends import BACKEND_KEY, HF_JOBS
from holdfast.core.text.places import Place

KEYS: Final = {
    "flavor": "where.hardware",
    "timeout": "where.timeout",
    "namespace": "where.options.namespace",
    "image": "where.options.image",
    "python": "environment.python",
}
REQUIREMENTS: Final = "environment.requirements"
NAME: Final = re.compile(r"[A-Za-z_]\w*")


def read_submitted(documents: Sequence[Document]) -> Iterator[Document]:
    """Yield the jobs that a script's own calls submit elsewhere, each with the settings of its call."""
    document = documents[0]
    for call in document.calls:
        if call.package == "huggingface_hub" and call.name in UV | IMAGES and not call.guard.because:
            try:
                yield from _sent(document, call)
            except UsageError:  # no Python: that file's own check says so
                continue


def _sent(document: Document, call: Call) -> Iterator[Document]:
    launch = _launch(document, call)
    documents = _sent_script(document, call) if call.name in UV else _sent_command(document, call)
    yield from (with_launch(each, launch) for each in documents)


def _sent_script(document: Document, call: Call) -> Iterator[Document]:
    """Yield the documents of the script that `run_uv_job` sends, unless it is the one that calls it."""
    script = call.positional[0] if call.positional else call.arguments.get("script")
    if isinstance(script, str):
        folders = (Path(), Path(document.path).parent)
        found = read_script_documents(script, folders, _arguments(call), SiblingSettings(*folders))
        yield from (each for each in found if Path(each.path).resolve() != Path(document.path).resolve())


def _sent_command(document: Document, call: Call) -> Iterator[Document]:
    """Yield the documents of the command that `run_job` sends."""
    command = call.positional[1] if len(call.positional) > 1 else call.arguments.get("command")
    place = document.place(f"{call.key}.command") if "command" in call.arguments else call.place
    if _is_words(command):
        for line in read_program_lines([Word(word, place, quoted=" " in word) for word in command]):
            yield from read_line_documents(line, document.text, document.path)


def _is_words(value: Any) -> TypeGuard[Sequence[str]]:
    """True of a list or a tuple of strings, all of them known."""
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def _arguments(call: Call) -> tuple[str, ...] | None:
    """Return the arguments that the script is given; None if they are not known."""
    given = call.arguments.get("script_args")
    if given is None:
        return () if not call.open else None
    return tuple(given) if _is_words(given) else None


def _launch(document: Document, call: Call) -> Launch:
    launch = Launch((), by=("hf jobs uv run" if call.name in UV else "hf jobs run",))
    launch.say(BACKEND_KEY, HF_JOBS.name, call.name_place)
    for name, value in call.arguments.items():
        place = document.place(f"{call.key}.{name}")
        if name in KEYS and value is not None:
            launch.say(KEYS[name], value, place)
        else:
            _note_group(launch, name, value, place)
    return launch


def _note_group(launch: Launch, name: str, value: Any, place: Place) -> None:
    """Note an argument of the call that holds several settings of a job."""
    match value:
        case list() | tuple() if name == "dependencies":
            for requirement in value:
                launch.add(REQUIREMENTS, requirement, place)
        case Mapping() if name == "secrets":
            launch.say("environment.secrets", [*map(str, value)], place)
        case Mapping() if name == "env":
            _note_variables(launch, value, place)
        case _:
            pass


def _note_variables(launch: Launch, variables: Mapping[Any, Any], place: Place) -> None:
    for name, setting in variables.items():
        if NAME.fullmatch(str(name)):
            launch.say(f"environment.variables.{name}", setting, place)
