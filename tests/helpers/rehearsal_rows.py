"""A process that runs pieces of scripts with their real rows, or with the rows of a rehearsal; one JSON answer a piece.

    python -m tests.helpers.rehearsal_rows real|twin FOLDER < cases

A case is {"name", "code", "folder"}: the code runs in its folder, and what it leaves in `answer` is told with what it
raised. In the twin, `few(dataset)` is a trainer's door; with real rows it gives back what it gets.
"""

import json
import logging
import os
import sys
import time
import types
import warnings
from pathlib import Path
from typing import Any

from tests.helpers.children import Answer, ask

ORDER: dict[str, Any] = {"script": "train.py", "source": ""}


def ask_rows(mode: str, folder: Path, cases: list[dict[str, Any]], **variables: str) -> dict[str, Answer]:
    """Return what becomes of each case, by its name."""
    caches = {"HF_HOME": str(folder / f"home-{mode}"), "HF_DATASETS_CACHE": str(folder / f"home-{mode}" / "datasets")}
    answers: dict[str, Answer] = ask(
        ["-m", "tests.helpers.rehearsal_rows", mode, str(folder)], cases, **(caches | variables)
    )
    return answers


def main(mode: str, folder: Path) -> None:
    """Answer the cases of standard input."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    answers, sys.stdout = sys.stdout, sys.stderr
    cases = json.load(sys.stdin)
    space: dict[str, Any] = {"few": lambda dataset, **_: dataset, "twin": mode == "twin"}
    told = Path(folder, "told.jsonl")
    if mode == "twin":
        space |= _rehearsing(folder, told, cases)
    json.dump({case["name"]: _answer(case, dict(space), told) for case in cases}, answers, default=str)


def _rehearsing(folder: Path, told: Path, cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Install the rows of a rehearsal, and return what a case finds of it."""
    from holdfast.payload import runtime
    from holdfast.payload.rehearsal import rows
    from holdfast.payload.rehearsal.events import EventWriter
    from holdfast.payload.rehearsal.part_request import PartRequest

    sys.modules["holdfast_runtime_source"] = runtime
    if os.environ.get("HOLDFAST_SMALL_BOUNDS"):  # so that 600 rows are many
        for module in (rows.bounds, rows.loading):
            vars(module).update({"ROWS": 100, "BYTES": 20_000, "POOL": 50})
    known = cases[0].get("known_rows", "") if cases else ""
    part_request, tell = (
        PartRequest(**ORDER, folder=str(folder / "rehearsal"), known_rows=known),
        EventWriter(str(told)),
    )
    rows.install(part_request, tell)
    return {
        "few": lambda dataset, **more: rows.few(dataset, part_request.rows, tell, **more),
        "part_request": part_request,
        "tell": tell,
    }


def _answer(case: dict[str, Any], space: dict[str, Any], told: Path) -> Answer:
    os.chdir(case["folder"])
    main = types.ModuleType("__main__")  # as the runtime does: functions of a script are pickled as the main program's
    vars(main).update(space)
    space, sys.modules["__main__"] = vars(main), main
    before = told.stat().st_size if told.exists() else 0
    began_s = time.perf_counter()
    refused = None
    try:
        exec(compile(case["code"], f"{case['name']}.py", "exec"), space)
    except Exception as error:  # noqa: BLE001 - whatever refuses a case is the answer
        refused = [type(error).__name__, str(error)[:500]]
    events = told.read_text(encoding="utf-8")[before:].splitlines() if told.exists() else []
    taken_s = time.perf_counter() - began_s
    return {
        "refused": refused,
        "answer": space.get("answer"),
        "told": [json.loads(line) for line in events],
        "s": taken_s,
    }


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
