"""Guards of programs of Python that the script starts: each begins with a `sitecustomize` that installs them there too.

Covered: what any program beneath starts, while the variables are handed on. Not covered: `python -I`, `-E` and `-S`, which
look for none; other programs, which neither see what the script has written nor are kept from writing.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ..part_request import PartRequest

NAME = "sitecustomize.py"
REHEARSAL = Path(__file__).absolute().parent.parent
TEXT = '''"""Made by a rehearsal: guards this process, then does what a `sitecustomize` of the environment would."""
import importlib
import importlib.machinery
import importlib.util
import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [each for each in sys.path if os.path.abspath(each or ".") != folder]


def guard():
    spec = importlib.util.spec_from_file_location("holdfast_rehearsal_server", {server!r})
    server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(server)
    server.load(server.HERE.parent / "runtime.py", server.RUNTIME)
    server.load(server.HERE / "__init__.py", server.PACKAGE)
    part_request = importlib.import_module(server.PACKAGE + ".part_request").read_part_request({part_request!r})
    tell = importlib.import_module(server.PACKAGE + ".events").EventWriter({events_path!r})
    for name in ("guards", "pushes"):
        importlib.import_module(server.PACKAGE + "." + name).install(part_request, tell)


guard()
if own := importlib.machinery.PathFinder.find_spec("sitecustomize"):
    own.loader.exec_module(importlib.util.module_from_spec(own))
'''


def make_guard(part_request: PartRequest) -> Path:
    """Write the module that guards a process; return the folder to look for it in."""
    folder = Path(part_request.folder, "guarded")
    folder.mkdir(exist_ok=True)
    events_path = str(Path(part_request.folder, "rehearsal.jsonl"))
    text = TEXT.format(
        server=str(REHEARSAL / "__main__.py"), part_request=part_request.written(), events_path=events_path
    )
    (folder / NAME).write_text(text, encoding="utf-8")
    return folder


def guarded(variables: Mapping[str, str] | None, folder: Path) -> dict[str, str]:
    """Return the variables of a program with which it is guarded, and with which `python` is this one.

    >>> guarded({"PYTHONPATH": "/own"}, Path("/r/guarded"))["PYTHONPATH"]
    '/r/guarded:/own'
    """
    given = dict(os.environ if variables is None else variables)
    places = [str(folder), *filter(None, [given.get("PYTHONPATH")])]
    paths = [str(Path(sys.executable).parent), given.get("PATH", os.defpath)]
    return given | {"PYTHONPATH": os.pathsep.join(places), "PATH": os.pathsep.join(paths)}
