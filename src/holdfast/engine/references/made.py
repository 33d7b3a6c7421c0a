"""What a program may make by Python's own means before it reads it: files that it writes, unpacks, downloads, or looks for first.

Covered: calls by their name, with the texts that they are handed; lines of a shell in a notebook; names that commands repeat.
Not covered: modules beside the script. Where it cannot be seen which file is made, it may be any.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from holdfast.core.job.document import Document
from holdfast.core.job.notebook import is_notebook, read_cells
from holdfast.engine.references.written import SAVES_MODEL, may_be_model, plain_folder, read_written

ON_PATHS: Final = frozenset(
    {"write_text", "write_bytes", "touch", "mkdir", "symlink_to", "exists", "is_dir", "is_file", "glob"}
)
"""Methods of a path that make it, or look whether it is there."""
MAKES: Final = frozenset(
    {"makedirs", "extractall", "unpack_archive", "urlretrieve", "clone_from", "chdir"}
    | {"copytree", "copyfile", "move", "symlink", "save_to_disk"}
    | {"to_json", "to_csv", "to_parquet", "to_pickle", "write_json", "write_csv", "write_parquet", "write_ndjson"}
    | {"write_table", "isdir", "isfile", "listdir", "scandir"}
)
"""Functions and methods that make the file they are handed, or look for it."""
MODULES: Final = frozenset({"shutil", "wget", "gdown"})
"""Modules whose every function counts as one of these."""
DOWNLOADS: Final = frozenset({"hf_hub_download", "snapshot_download"})
FOLDERS: Final = ("local_dir", "local_dir_use_symlinks")
WRITING: Final = frozenset("wax+")
"""A mode of `open` has one of these where it writes."""
KNOWN: Final = frozenset({"os", "pathlib", "Path", "str", "open", "True", "False"} | MODULES)
"""Names in an expression of a path that hide nothing of it."""
COMMANDS: Final = frozenset({"system", "popen", "Popen", "check_call", "check_output"})
"""Functions that run a command, which may make anything; so does all of `subprocess`."""
LINE: Final = re.compile(r"\s*(?P<sign>[!%]+)\s*(?P<word>\S*)")
"""A line of a notebook that is not valid Python."""
HARMLESS: Final = frozenset({"pip", "pip3", "nvidia-smi", "echo", "ls", "wandb"})
MAGICS: Final = frozenset({"cd", "bash", "sh", "script", "run"})
"""Words behind `!` that make no data, and words behind `%` that may."""
BECAUSE: Final = "the program may make it, or look for it first"


@dataclass(frozen=True, slots=True)
class CreatedPaths:
    """What a program may make.

    Attributes:
        texts: The texts of which paths and commands are made up there.
        hidden: Whether it makes something whose name cannot be seen.
        hides_model: Whether it saves a model in a folder whose name cannot be seen.
    """

    texts: frozenset[str]
    hidden: bool = False
    hides_model: bool = False

    def why(self, name: str, *, here: bool = False) -> str:
        """Return why something may be another, or there at last, when it is read; empty if nothing says so.

        Args:
            name: What is read.
            here: Whether it is there now: then only what names it may change it.

        >>> made = CreatedPaths(frozenset({"data/rows.jsonl", "out"}))
        >>> [bool(made.why(name)) for name in ("./data/rows.jsonl", "out/final", "data/other.jsonl")]
        [True, True, False]
        """
        plain = plain_folder(name)
        last = plain.rpartition("/")[2]
        spoken_of = any(last in text or plain.startswith(f"{plain_folder(text)}/") for text in self.texts if text)
        hidden = self.hidden or (self.hides_model and may_be_model(last))
        return BECAUSE if spoken_of or (hidden and not here) else ""


def read_made(document: Document) -> CreatedPaths:
    """Return the paths that a program may create."""
    if document.kind == "command":
        return CreatedPaths(_repeated(document.text))
    found = [_made_in(text) for text in _sources(document)]
    written = read_written(document)
    hidden = written.hidden or any(each.hidden for each in found)
    hides_model = written.hides_model or any(each.hides_model for each in found)
    return CreatedPaths(frozenset[str]().union(*(each.texts for each in found)), hidden, hides_model)


def _repeated(text: str) -> frozenset[str]:
    """Return the words that stand in commands more than once, in whatever company but that of a flag's name."""
    words = text.replace("=", " ").replace('"', " ").replace("'", " ").split()
    given = " ".join(word for word in words if not word.startswith("--"))
    lasts = [plain_folder(word).rpartition("/")[2] for word in words]
    return frozenset(last for last in lasts if last and given.count(last) > 1)


def _sources(document: Document) -> Iterable[str]:
    return read_cells(document.text).values() if is_notebook(document.path) else (document.text,)


def _made_in(source: str) -> CreatedPaths:
    lines = source.splitlines()
    shell = {line: found for line in lines if (found := LINE.match(line))}
    try:
        tree = ast.parse("\n".join("" if line in shell else line for line in lines))
    except (SyntaxError, ValueError, RecursionError):
        return CreatedPaths(frozenset(shell), hidden=True)
    made = _made_by(tree)
    return replace(made, texts=made.texts | shell.keys(), hidden=made.hidden or any(map(_may_make, shell.values())))


def _made_by(tree: ast.Module) -> CreatedPaths:
    constants = _constants(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    targets = list(chain.from_iterable(map(_targets, calls)))
    models = [each for call in calls if _owner_and_name(call.func)[1] in SAVES_MODEL for each in _given(call)[:1]]
    return CreatedPaths(
        frozenset(text for target in (*targets, *models) for text in _texts(target, constants)),
        any(map(_runs, calls)) or any(_hides(target, constants) for target in targets),
        any(_hides(target, constants) for target in models),
    )


def _may_make(line: re.Match[str]) -> bool:
    """True if a line of a shell, or a magic word, may make files."""
    return line["word"] not in HARMLESS if line["sign"] == "!" else line["word"] in MAGICS


def _runs(call: ast.Call) -> bool:
    """True if a call runs a command."""
    owner, name = _owner_and_name(call.func)
    return name in COMMANDS or getattr(owner, "id", "") == "subprocess"


def _owner_and_name(function: ast.expr) -> tuple[ast.expr | None, str]:
    """Return the owner of a function, None for a bare name; and the name, empty if it has none."""
    if isinstance(function, ast.Attribute):
        return function.value, function.attr
    return None, getattr(function, "id", "")


def _constants(tree: ast.Module) -> Mapping[str, set[str]]:
    """Return the texts that names are given."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (text := _text_of(node.value)) is not None:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, set()).add(text)
    return found


def _text_of(node: ast.AST) -> str | None:
    """Return the text that a literal is; None for everything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _targets(call: ast.Call) -> Sequence[ast.expr]:
    """Return the expressions that say what a call makes, or looks for."""
    owner, name = _owner_and_name(call.func)
    if getattr(owner, "id", "") in MODULES:
        return _given(call)
    if name in DOWNLOADS:
        return [keyword.value for keyword in call.keywords if keyword.arg in FOLDERS]
    if name in ON_PATHS:
        return _path_of(owner, call)
    return _given(call)[:1] if _makes_first(call, name) else []


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _path_of(owner: ast.expr | None, call: ast.Call) -> Sequence[ast.expr]:
    """Return the path that a method is of; a function of `os` takes it as its first argument."""
    if owner is None:
        return []
    is_of_os = getattr(owner, "id", "") == "os" or getattr(owner, "attr", "") == "path"
    return _given(call)[:1] if is_of_os else [owner]


def _makes_first(call: ast.Call, name: str) -> bool:
    """True if a call makes the file that its first argument names, or looks for it."""
    return name in MAKES or (isinstance(call.func, ast.Name) and name == "open" and _writes(call))


def _writes(call: ast.Call) -> bool:
    """True if a call of `open` may write."""
    modes = [*(each.value for each in call.keywords if each.arg == "mode"), *call.args[1:2]]
    text = _text_of(modes[0]) if modes else ""
    return text is None or bool(WRITING & set(text))


def _texts(target: ast.expr, constants: Mapping[str, set[str]]) -> Iterator[str]:
    for node in ast.walk(target):
        if (text := _text_of(node)) is not None:
            yield text
        elif isinstance(node, ast.Name):
            yield from constants.get(node.id, ())


def _hides(target: ast.expr, constants: Mapping[str, set[str]]) -> bool:
    """True if a part of an expression is not known."""
    names = (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
    return any(name not in KNOWN and name not in constants for name in names)
