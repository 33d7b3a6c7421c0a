"""The user's own code in a traceback: the line that failed, the function it stands in, and what a library had called it for."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.core.diagnose.log import Frame, Traceback
from holdfast.core.job.notebook import is_notebook
from holdfast.engine.rehearse.source_code import functions_in, nodes_of, spans

OURS: Final = re.compile(r'File "[^"]*[/\\]holdfast[/\\]payload[/\\]')
"""A frame of what holdfast puts around the libraries."""
FRAME: Final = re.compile(r'^\s*File "[^"]+", line \d+')
RANK: Final = re.compile(r"\[rank\d+\]: ")
"""What torch writes before each line of the traceback of one of several processes."""
LAUNCHED: Final = re.compile(
    r'^\s*File "[^"]*[/\\]rehearsal[/\\]launching\.py", line \d+ in _play_rank\n(?:\s*File .*\n?)*', re.MULTILINE
)
"""The outermost frames of a stack of one of several processes, which is forked from their launcher: those of the launcher."""
PYTHONS_OWN: Final = re.compile(
    r"[/\\\\][lL]ib[/\\\\](?:python3\.\d+[/\\\\])?(?!python3|(?:site|dist)-packages)|^<frozen "
)
"""A file of Python's standard library."""
CODE_INDENT: Final = 4
Cells = tuple[tuple[int, int], ...]
UNNAMED: Final = {"<module>": "", "<lambda>": "lambda"}
"""How the code of frames without a definition is called, by what Python calls it."""
NamedNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
REFUSED: Final = re.compile(
    r"TypeError: (?:\w+\.<locals>\.)*(?P<name>[\w.]+)\(\) (?:missing \d+ required|got an unexpected keyword|got multiple values|takes )"
)
"""What Python says of a call that a function does not fit."""
ROLES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"transformers/trainer_callback\.py.* in call_event$"), "callback"),
    (re.compile(r"trl/.* in _calculate_rewards$"), "reward function"),
    (re.compile(r"trl/trainer/sft_trainer\.py.* in _func$"), "formatting function"),
    (re.compile(r"torch/utils/data/_utils/fetch\.py"), "collator"),
    (re.compile(r"transformers/trainer_utils\.py.* in __call__$"), "collator"),
    (re.compile(r"transformers/trainer\.py.* in \w*(?:evaluation|prediction)_loop$"), "metric function"),
    (re.compile(r"transformers/trainer\.py.* in call_model_init$"), "`model_init` function"),
    (re.compile(r"/datasets/.* in \w*mask_function$"), "`filter` function"),
    (re.compile(r"/datasets/.* in \w*apply_function\w*$"), "`map` function"),
)
"""What a function of the user's is to the library whose frame calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingLine:
    """A line of the user's own code in which an exception left it.

    Attributes:
        path: The file, as the traceback spells it.
        line: Its number.
        code: Its text, where that is known.
        function: The function it stands in, with its class: `SaveMetrics.on_log`; empty at the top of a file.
        role: What that function, or the one that led there, is to the library that calls it: `callback`; empty if the script calls it.
        called: The function that has the role, where that is another one.
        entered: The function of a library that it called, and that raised; empty if the line itself did.
        cells: Of a notebook, whose cells are run as one program, the first line of each cell and its number.
    """

    path: str
    line: int
    code: str = ""
    function: str = ""
    role: str = ""
    called: str = ""
    entered: str = ""
    cells: Cells = ()

    @property
    def where(self) -> str:
        """The line as compilers name it: `train.py:12`, `train.ipynb:cell 3:2`."""
        return spell_place(self.path, self.line, self.cells)


def spell_place(path: str, line: int, cells: Cells = ()) -> str:
    """Return a line as compilers name it.

    >>> spell_place("train.py", 12), spell_place("train.ipynb", 12, ((1, 2), (11, 5)))
    ('train.py:12', 'train.ipynb:cell 5:2')
    """
    begun = [(first, number) for first, number in cells if first <= line]
    if not begun:
        return f"{path}:{line}"
    first, number = begun[-1]
    return f"{path}:cell {number}:{line - first + 1}"


def without_own_frames(log: str) -> str:
    """Return a log, or stacks, without the frames of what holdfast puts around the libraries."""
    return "".join(_foreign_lines(LAUNCHED.sub("", log).splitlines(keepends=True)))


def _foreign_lines(lines: Sequence[str]) -> Iterator[str]:
    within = dict[str, bool]()  # by process: their lines may alternate
    for line in lines:
        rank = found[0] if (found := RANK.match(line)) else ""
        bare = line.removeprefix(rank)
        if FRAME.match(bare):
            within[rank] = bool(OURS.search(bare))
        elif not bare.startswith(" " * CODE_INDENT):
            within[rank] = False
        if not within.get(rank):
            yield line


def find_failing_line(traceback: Traceback, sources: Mapping[str, str], cells: Cells) -> FailingLine | None:
    """Return the innermost line of the user's own code in a traceback; None if there is none.

    Args:
        traceback: What was raised.
        sources: The texts of the user's files, by path as the traceback spells it; frames of other files are not the user's.
        cells: Of a notebook, the first line of each cell and its number.
    """
    if refused := _refused_function(traceback, sources, cells):
        return refused
    found = [line for part in traceback.chain if (line := _innermost(part.frames, sources, cells))]
    within = [
        line for line in found if line.role
    ]  # of a worker's exception the cause has the function, the last one a call
    return next(iter([*reversed(within), *reversed(found)]), None)


def _refused_function(traceback: Traceback, sources: Mapping[str, str], cells: Cells) -> FailingLine | None:
    """Return the first line of a function of the user's that a library called with other arguments than it takes.

    Python raises where it is called, so that no line of the function is in the traceback.
    """
    frames = traceback.frames
    found = REFUSED.search(traceback.error[0].text if traceback.error else "")
    if found is None or not frames or frames[-1].file in sources:
        return None
    name = found["name"]
    defined = functions_in(sources, name)
    if len(defined) != 1:
        return None
    path, node = defined[0]
    return FailingLine(
        path=path,
        line=node.lineno,
        code=_line(sources[path], node.lineno),
        function=name,
        role=role_of(frames),
        cells=cells if is_notebook(path) else (),
    )


def _innermost(frames: Sequence[Frame], sources: Mapping[str, str], cells: Cells) -> FailingLine | None:
    own = [number for number, frame in enumerate(frames) if frame.file in sources]
    if not own:
        return None
    frame = frames[own[-1]]
    function = qualified_name(sources[frame.file], frame)
    called, role = _called_function(frames, own, sources)
    return FailingLine(
        path=frame.file,
        line=frame.line,
        code=_line(sources[frame.file], frame.line) or frame.code,
        function=function,
        role=role,
        called=called if called != function else "",
        entered=_entered(frames[own[-1] + 1 :]),
        cells=cells if is_notebook(frame.file) else (),
    )


def _called_function(frames: Sequence[Frame], own: Sequence[int], sources: Mapping[str, str]) -> tuple[str, str]:
    """Return the function of the user's that a library called last, and its role to that library; both are empty if there is none.

    Args:
        frames: Those of a traceback.
        own: The numbers of those in the user's files.
        sources: The texts of these files.
    """
    entry = next((number for number in reversed(own) if number and frames[number - 1].file not in sources), None)
    if entry is None:
        return "", ""
    function = qualified_name(sources[frames[entry].file], frames[entry])
    return function, role_of(frames[:entry]) if function else ""


def _entered(frames: Sequence[Frame]) -> str:
    """Return the function of a library that raised: Python's own modules, such as `json`, only do as they are called."""
    others = [frame.function for frame in frames if not PYTHONS_OWN.search(frame.file)]
    return (others or [frame.function for frame in frames] or [""])[-1]


def role_of(frames: Sequence[Frame]) -> str:
    """Return the role of a user's function for the library that calls it, by the frames above it.

    >>> role_of([Frame("site-packages/transformers/trainer_callback.py", 545, "call_event")])
    'callback'
    >>> role_of([Frame("site-packages/peft/mapping.py", 5, "get_peft_model")])
    ''
    """
    caller = str(frames[-1])
    return next((role for pattern, role in ROLES if pattern.search(caller)), "")


def qualified_name(source: str, frame: Frame) -> str:
    r"""Return the name of the function that a frame stands in, with that of its class; empty at the top of a file.

    A comprehension is part of its function, though Python 3.11 gives it a frame.

    >>> qualified_name("class A:\n    def f(self):\n        pass", Frame("a.py", 3, "f"))
    'A.f'
    >>> qualified_name("def f(rows):\n    return [row.x\n for row in rows]", Frame("a.py", 2, "<listcomp>"))
    'f'
    """
    if frame.function in UNNAMED:
        return UNNAMED[frame.function]
    nodes = nodes_of(source)
    if not nodes:
        return frame.function
    name = _function_name(_definitions_around(nodes, frame.line))
    return name or ("" if frame.function.startswith("<") else frame.function)


def _function_name(around: Sequence[NamedNode]) -> str:
    """Return the name of the innermost of some definitions, with that of a class around it; empty if it is no function."""
    if not around or isinstance(around[-1], ast.ClassDef):
        return ""
    is_method = len(around) > 1 and isinstance(around[-2], ast.ClassDef)
    return ".".join(node.name for node in around[-2 if is_method else -1 :])


def _line(source: str, number: int) -> str:
    lines = source.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _definitions_around(nodes: Sequence[ast.AST], line: int) -> list[NamedNode]:
    """Return the functions and classes that a line stands in, the outermost first."""
    return [node for node in nodes if isinstance(node, NamedNode) and spans(node, line)]
