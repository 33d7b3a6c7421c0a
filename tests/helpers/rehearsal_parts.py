"""Run a script under some parts of a rehearsal, in a process of its own; say what it answered and what was told.

    done = play(tmp_path, "print(1)", parts=("guards",))
    assert done.printed == ["1"] and not done.failed

The script prints what the test asks. As a program: `python rehearsal_parts.py PART,PART` with an order on standard input.
"""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAYLOAD = Path(__file__).parents[2] / "src" / "holdfast" / "payload"
PACKAGE = "holdfast_rehearsal"


@dataclass
class Played:
    """What became of a script.

    Attributes:
        code: Its exit code.
        printed: Lines of its standard output.
        errors: Its standard error.
        told: Events, in order.
        folder: The rehearsal's.
    """

    code: int
    printed: list[str]
    errors: str
    told: list[dict[str, Any]]
    folder: Path

    @property
    def not_rehearsed(self) -> list[str]:
        """What was told as such."""
        return [each["what"] for each in self.told if each["event"] == "not_rehearsed"]

    @property
    def failed(self) -> list[tuple[str, str]]:
        """Stages that failed, and with what."""
        return [(each["stage"], each["error"]) for each in self.told if each["event"] == "failed"]

    def facts(self, about: str) -> list[dict[str, Any]]:
        """Return the facts about something."""
        return [each for each in self.told if each["event"] == "fact" and each["about"] == about]


def play(
    place: Path, source: str, parts: Sequence[str], variables: dict[str, str] | None = None, **part_request: Any
) -> Played:
    """Run a script that lies in `place/work` and is started there."""
    work, folder = place / "work", place / "rehearsal"
    work.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    script = work / "script.py"
    script.write_text(source)
    asked = {"script": str(script), "source": source, "folder": str(folder), **part_request}
    kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, ",".join(parts)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        cwd=work,
        env=kept | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"} | (variables or {}),
    )
    told = folder / "rehearsal.jsonl"
    lines = told.read_text().splitlines() if told.exists() else []
    return Played(done.returncode, done.stdout.splitlines(), done.stderr, [json.loads(line) for line in lines], folder)


def run(parts: Sequence[str], asked: dict[str, Any]) -> None:
    """Run the script of an order, as the rehearsal's own process does."""
    runtime = _load(PAYLOAD / "runtime.py", "holdfast_runtime_source")
    _load(PAYLOAD / "rehearsal" / "__init__.py", PACKAGE)
    for module in asked.pop("before", ()):
        importlib.import_module(module)  # as the rehearsal's server does
    part_request = importlib.import_module(f"{PACKAGE}.part_request").PartRequest(
        **asked | {"writable": tuple(asked.get("writable", ()))}
    )
    part_request.inside.mkdir(exist_ok=True)
    tell = importlib.import_module(f"{PACKAGE}.events").EventWriter(str(Path(part_request.folder, "rehearsal.jsonl")))
    os.environ["HOLDFAST_ATTEMPT"] = str(Path(part_request.folder, "attempt"))
    for part in parts:
        importlib.import_module(f"{PACKAGE}.{part}").install(part_request, tell)
    try:
        runtime.run_script(part_request.script, part_request.source, [])
    finally:
        tell.close()


def _load(path: Path, name: str) -> Any:
    inside = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.path.pop(0)  # the tests' folder
    run([part for part in sys.argv[1].split(",") if part], json.load(sys.stdin))
