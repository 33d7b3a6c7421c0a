"""One process of a rehearsal, from its first line to its last."""

import os
import shutil
import socket
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from .events import EventWriter
from .guards.enclosing import enclose
from .hosts import stand_in
from .launching import launch
from .packages import declare_elsewhere
from .part_request import NOTEBOOK, PartRequest, read_part_request
from .wrapping import raised_by

OWN = "trl:"
"""What scripts of TRL's own are named with."""
MODULES = ("guards", "predictions", "devices", "pushes", "rows", "twins", "writing", "trainers", "loops")
"""What takes the place of functions, in order: `devices` looks at who calls a model, and whatever wraps the call before it stays below."""


def play(line: str) -> int:
    """Run the script as a part request asks, and return the exit code."""
    part_request = read_part_request(line)
    part_request.inside.mkdir(parents=True, exist_ok=True)
    part_request = find_what_was_left(part_request)
    events = EventWriter(event_file(part_request))
    os.environ["HOLDFAST_ATTEMPT"] = str(Path(part_request.folder, "attempt"))
    os.environ["HOLDFAST_RESUME"] = part_request.resume
    os.environ["HOLDFAST_ACCEPTED"] = "true"  # `trainers/resuming.py` judges what a rehearsal resumes with
    os.environ.pop("HOLDFAST_PROCESSES", None)
    os.environ.update(part_request.variables)
    if "RANK" in os.environ and part_request.processes == 1:
        os.environ["MASTER_PORT"] = str(free_port())  # the parts run side by side
    if part_request.known_model:
        import_module(".twins.known", __package__).make_known_model(Path(part_request.known_model))
    declare_elsewhere(part_request.elsewhere)
    events.fact("elsewhere", modules=list(part_request.elsewhere))
    part_request = enclose(part_request, events)
    if part_request.processes > 1:
        return launch(part_request, play_alone)
    return play_alone(part_request)


def play_alone(part_request: PartRequest) -> int:
    """Run the script in this process, watched, and return the exit code."""
    events = EventWriter(event_file(part_request))
    for name in MODULES:
        import_module(f".{name}", __package__).install(part_request, events)
    code = run(part_request, events)
    if not code and part_request.part == "whole":
        code = look_after(part_request, events)
    events.close()
    return code


def event_file(part_request: PartRequest) -> str:
    """Return the file that a process writes its events into."""
    rank = f"-{part_request.rank}" if part_request.rank else ""
    return str(Path(part_request.folder, f"rehearsal{rank}.jsonl"))


def find_what_was_left(part_request: PartRequest) -> PartRequest:
    """Have a process that goes on find what the one that was stopped has written, as on the disk of a job that is started again.

    Returns:
        The part request, with its checkpoint where this process finds it.
    """
    left = Path(part_request.before, part_request.inside.name)
    is_elsewhere = bool(part_request.resume) and not Path(part_request.resume).is_relative_to(left)
    if not part_request.before or not left.is_dir() or is_elsewhere:
        return part_request
    shutil.copytree(left, part_request.inside, symlinks=True, copy_function=os.link, dirs_exist_ok=True)
    if not part_request.resume:
        return part_request
    return replace(part_request, resume=str(part_request.inside / Path(part_request.resume).relative_to(left)))


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as anybody:
        anybody.bind(("127.0.0.1", 0))
        port: int = anybody.getsockname()[1]
        return port


def run(part_request: PartRequest, events: EventWriter) -> int:
    """Run the script to its end; return its exit code."""
    sys.path[:] = [each for each in sys.path if not each.startswith(str(Path(__file__).parent))]
    try:
        error = raised_by(partial(_run_script, part_request, events))
        if error:
            events.failed(error)
            traceback.print_exception(error)
    except SystemExit as leave:
        return _code(leave.code)
    finally:
        events.write("script_ended", stage=events.stage)
    return 1 if error else 0


def _run_script(part_request: PartRequest, events: EventWriter) -> None:
    runtime: Any = sys.modules["holdfast_runtime_source"]
    name, source, argv = find_script(part_request)
    if name.endswith(NOTEBOOK):
        stand_in(source, events)
    runtime.run_script(name, source, argv, part_request.module)


def _code(code: Any) -> int:
    """Return the exit code that the interpreter would give."""
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return 1


def find_script(part_request: PartRequest) -> tuple[str, str, list[str]]:
    """Return the path, the text and the arguments of the script; one of TRL's own is found where TRL is installed.

    Raises:
        FileNotFoundError: TRL has no such script.
        SystemExit: TRL's command line refuses its words.
    """
    if not part_request.script.startswith(OWN):
        return part_request.script, part_request.source, list(part_request.argv)
    name = part_request.script.removeprefix(OWN)
    path = Path(str(import_module("trl").__file__)).parent / "scripts" / f"{name}.py"
    return str(path), path.read_text(encoding="utf-8"), _own_words(name, list(part_request.argv))


def _own_words(name: str, words: list[str]) -> list[str]:
    """Return the words that TRL's command line hands to its script: those of the launcher are left out."""
    try:
        launcher: Any = import_module("trl.cli.accelerate_launcher")
        main = import_module("trl.cli.main")
        accelerate = import_module("accelerate.commands.launch")
    except ImportError:  # before TRL 0.29
        return words
    handed: list[list[str]] = []

    def hear(training_script_args: list[str], launch_args: Sequence[str] = (), **_: Any) -> None:
        accelerate.launch_command_parser().parse_args([*launch_args, name])  # which refuses words that neither knows
        handed.append(training_script_args)

    launcher.launch_training_script = hear
    main.main([name, *words])
    return handed[0] if handed else words


def look_after(part_request: PartRequest, events: EventWriter) -> int:
    """Judge what the script has left behind; return 1 where it is of no use."""
    with events.during("export"):
        error = raised_by(partial(import_module(".after", __package__).look, part_request, events))
        if error is None:
            return 0
        events.failed(error)
        traceback.print_exception(error)
    events.write("script_ended", stage="export")
    return 1
