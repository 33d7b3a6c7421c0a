"""What a rehearsal's failures are explained from: tracebacks, with the user's own files as they name them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.readers.script.notebook_cells import clean_cell
from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.targets import read_text
from holdfast.core.diagnose.log import Frame, Line, Traceback
from holdfast.core.job.notebook import is_notebook, read_cells
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.rehearse.rehearsal import Part, PartResult
from holdfast.engine.diagnose import read_log
from holdfast.engine.diagnose.kept_lines import LogQuery
from holdfast.engine.rehearse.absence_advice import NO_MODULE
from holdfast.engine.rehearse.advising import SYNTAX
from holdfast.engine.rehearse.explaining import FailureContext
from holdfast.engine.rehearse.naming import because_of
from holdfast.engine.rehearse.tracebacks import FailingLine

SOURCES: Final = "src"
"""The folder of a project that holds its packages."""
FILE_LINE: Final = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
MODULE: Final = "<module>"
CONFIG: Final = "--config"
EXIT: Final = "<exit>"
"""In place of the function that a script left in, if it is not known."""


def read_failure_context(program: Program, parts: Mapping[Part, PartResult]) -> FailureContext:
    """Return the context that explains the failures of a program's rehearsal."""
    raised = {part: traceback for part, played in parts.items() if (traceback := _traceback(played))}
    sources = _sources(program, [*_raised_frames(raised.values()), *_given_frames(parts)])
    shown = {path: _as_named(path) for path in sources}
    return FailureContext(
        target=program.path,
        parts=parts,
        tracebacks={part: _renamed(traceback, shown) for part, traceback in raised.items()},
        sources={shown[path]: text for path, text in sources.items()},
        own_modules=dict(_own_modules(program, parts)),
        flags=dict(_flags(program)),
        cells=tuple(_cells(program)),
        job=program.job,
    )


def _traceback(played: PartResult) -> Traceback | None:
    """Return what ended a part, as a traceback; None if nothing is known to have ended it."""
    return _last_line(played) or _unread_line(played) or _last_traceback(played)


def _raised_frames(tracebacks: Iterable[Traceback]) -> Iterator[Frame]:
    for traceback in tracebacks:
        for each in traceback.chain:
            yield from each.frames


def _given_frames(parts: Mapping[Part, PartResult]) -> Iterator[Frame]:
    """Yield the files of what the script gave its trainers, each as a frame without a line."""
    trainings = chain.from_iterable(played.facts("training") for played in parts.values())
    files = {file for training in trainings for file in training.get("files", ())}
    yield from (Frame(file, 0, "") for file in sorted(files))


def _sources(program: Program, frames: Iterable[Frame]) -> dict[str, str]:
    """Return the texts of the user's own files: those of frames, the program, and the settings that it names."""
    sources = {frame.file: text for frame in frames if (text := _own_text(frame, program)) is not None}
    if program.job is None:
        sources[program.path] = program.source
    return sources | {path: read_foreign_text(Path(path)) for path in _settings_files(program)}


def _own_modules(program: Program, parts: Mapping[Part, PartResult]) -> Iterator[tuple[str, str]]:
    """Yield the modules that Python did not find though they are the project's own, each with the folder that it is in."""
    missing = (NO_MODULE.match(because_of(played)) for played in parts.values())
    for found, folder in product(filter(None, missing), _project_folders(program)):
        if (folder / found[1]).is_dir() or (folder / f"{found[1]}.py").is_file():
            yield found[1], _as_named(str(folder))


def _project_folders(program: Program) -> Iterator[Path]:
    """Yield the folders of a program, up to the current one, that may hold its project's modules."""
    for folder in Path(program.path).absolute().parents:
        if folder.is_relative_to(Path.cwd()):
            yield folder
            yield folder / SOURCES


def _flags(program: Program) -> Iterator[tuple[str, FailingLine]]:
    """Yield the flags that a shell script gives, each with its line."""
    for flag, at in program.flags.items():
        if at.line and Path(at.path).is_file():
            code = read_foreign_text(Path(at.path)).splitlines()[at.line - 1 : at.line]
            yield flag, FailingLine(path=_as_named(at.path), line=at.line, code="".join(code).strip())


def _settings_files(program: Program) -> Iterator[str]:
    """Yield the files of settings that a command line names: `--config sft.yaml`."""
    for before, word in pairwise(("", *program.arguments)):
        path = word if before == CONFIG else word.partition(f"{CONFIG}=")[2]
        if target_kind(path) is TargetKind.JOB and Path(path).is_file():
            yield path


def _cells(program: Program) -> Iterator[tuple[int, int]]:
    """Yield the first line of each cell of a notebook, in the program that they make together, with the cell's number."""
    line = 1
    for number, text in read_cells(read_text(program.path)).items() if is_notebook(program.path) else ():
        yield line, number
        line += clean_cell(text).count("\n") + 1


def _last_line(played: PartResult) -> Traceback | None:
    """Return the line at which a script ended itself, as a traceback would give it; None if it did not."""
    file, _, line = (played.end.where or "").rpartition(":")
    if not played.exited or not file:
        return None
    return Traceback(start=Line(0, because_of(played)), frames=(Frame(file, int(line), EXIT),))


def _unread_line(played: PartResult) -> Traceback | None:
    """Return the line that Python could not read, as a traceback would give it: it is raised before anything runs."""
    places = FILE_LINE.findall(played.logs.get("stderr.log", ""))
    if not because_of(played).startswith(SYNTAX) or not places:
        return None
    file, line = places[-1]
    return Traceback(start=Line(0, because_of(played)), frames=(Frame(file, int(line), MODULE),))


def _last_traceback(played: PartResult) -> Traceback | None:
    """Return the traceback of the exception that a process ended with."""
    text = played.logs.get("stderr.log", "")
    found = read_log([("stderr.log", iter([text.encode()]))], LogQuery()).tracebacks
    because = because_of(played).partition(":")[0]
    ended = [each for each in found if each.error and each.error[0].text.startswith(because)]
    return next(iter([*reversed(ended), *reversed(found)]), None)


def _own_text(frame: Frame, program: Program) -> str | None:
    """Return the text of a file of the user's; None of a library's, and of a script that was made of a job file."""
    path = Path(frame.file)
    if frame.file == program.path or _is_same(path, program.path):
        return program.source if program.job is None else None
    if frame.is_library or frame.file.startswith("<") or not path.is_file():
        return None
    return read_foreign_text(path)


def _is_same(path: Path, script: str) -> bool:
    return path.exists() and Path(script).exists() and path.samefile(script)


def _as_named(path: str) -> str:
    """Return a path as a user names it: below the folder that they are in, without that folder."""
    whole, here = Path(path).absolute(), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else path


def _renamed(traceback: Traceback, names: Mapping[str, str]) -> Traceback:
    frames = tuple(replace(frame, file=names.get(frame.file, frame.file)) for frame in traceback.frames)
    earlier = tuple((_renamed(each, names), link) for each, link in traceback.earlier)
    return replace(traceback, frames=frames, earlier=earlier)
