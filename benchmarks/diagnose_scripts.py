"""How often `diagnose` is right about logs of injected faults: by the log alone, with the job's script, and with how it ended.

    .venv/bin/python -m benchmarks.diagnose_scripts FAULTS.jsonl LOGS SCRIPTS [--wrong]

A fault is a JSON object with `name`, `class` and the `exit_code` of its process, a number where it had one; its log is `LOGS/<name>.log`, its script `SCRIPTS/<name>.py`, where there is one.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.diagnose_cases import SAME, rows
from holdfast import diagnose
from holdfast.core.diagnose.diagnosis import HEALTHY, NOT_IN_LOG


def first_answer(told: dict[str, Any]) -> str:
    """Return the class that an answer names first."""
    if told["verdict"] == "unknown":
        return NOT_IN_LOG
    return str(told["causes"][0]["class"]) if told["causes"] and told["verdict"] == "diagnosed" else HEALTHY


def answers(
    faults: list[dict[str, Any]], logs: Path, scripts: Path | None, *, ended: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each fault, its class, and the class that is told."""
    for fault in faults:
        script = scripts / f"{fault['name']}.py" if scripts else None
        beside = [str(script)] if script and script.is_file() else []
        code = fault["exit_code"] if ended else ""
        told = diagnose([str(logs / f"{fault['name']}.log"), *beside], ended=str(code) if isinstance(code, int) else "")
        true = str(fault["class"])
        yield fault["name"], SAME.get(true, true), first_answer(told)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faults", type=Path)
    parser.add_argument("logs", type=Path)
    parser.add_argument("scripts", type=Path)
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    faults, logs, scripts = rows(options.faults), options.logs.resolve(), options.scripts.resolve()
    os.chdir(scripts.parent)  # relative paths in the scripts are those of where they ran
    for what, beside, ended in (
        ("the log alone", None, False),
        ("with its script", scripts, False),
        ("with its script, and how it ended", scripts, True),
    ):
        told = list(answers(faults, logs, beside, ended=ended))
        right = sum(true == answer for _, true, answer in told)
        print(f"{what}: {right} of {len(told)} right ({right / len(told):.1%})")
        for name, true, answer in told if options.wrong else ():
            if true != answer:
                print(f"  {name}: {true} taken for {answer}")


if __name__ == "__main__":
    main()
