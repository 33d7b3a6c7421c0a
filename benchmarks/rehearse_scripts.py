"""What rehearsals say of scripts that others wrote: the stages of each, its time, and why it failed.

    .venv/bin/python -m benchmarks.rehearse_scripts FOLDER [NAME...] [--limit SECONDS] [--whole]

FOLDER holds scripts and notebooks, with what they read beside them; `FOLDER/arguments.json` has the words of those that need any, by
name. The models and datasets that they name come from the loopback Hub: `tests/helpers/real_world.py`. All are rehearsed by one server, in this
environment, in FOLDER, which must be as it was afterwards.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.machine import heading
from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.app.rehearse.observing import observe
from holdfast.app.rehearse.playing import judge_parts, play_whole, run_parts
from holdfast.app.rehearse.rehearsing import make_part_request, wanted
from holdfast.app.targets.programs import program_of
from holdfast.core.errors import UsageError
from holdfast.core.rehearse.rehearsal import Rehearsal
from tests.helpers.hub import loopback_hub
from tests.helpers.real_world import fill

ARGUMENTS: Final = "arguments.json"
KINDS: Final = (".py", ".ipynb", ".sh")
SIGNS: Final = {"pass": "+", "fail": "F", "not_rehearsed": "."}


@dataclass(frozen=True)
class Told:
    """What the rehearsal of one script showed."""

    name: str
    found: Rehearsal
    took_s: float


def main() -> None:
    """Rehearse each, and tell what came of it."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=Path)
    words.add_argument("names", nargs="*")
    words.add_argument("--limit", type=float, default=120.0, help="seconds that a part may take")
    words.add_argument("--keep", type=Path, help="a new folder for what the rehearsals leave")
    words.add_argument("--whole", action="store_true", help="neither stop trainings nor go on with them")
    asked = words.parse_args()
    os.chdir(asked.folder)
    written = Path(ARGUMENTS)
    arguments = json.loads(written.read_text()) if written.is_file() else {}
    scripts = sorted(path.name for path in Path().iterdir() if path.suffix in KINDS)
    chosen = [each for each in scripts if not asked.names or any(name in each for name in asked.names)]
    before = snapshot()
    with loopback_hub() as hub, TemporaryDirectory() as name:
        fill(hub)
        os.environ.update(hub.variables)
        folder = asked.keep or Path(name)
        folder.mkdir(exist_ok=True)
        told = list(rehearse_each(chosen, arguments, folder, asked.limit, whole=asked.whole))
        pushed = [f"{each.author}: {each.message}" for each in hub.commits]
    tell(told)
    changed = sorted({path for path, _ in before ^ snapshot()})
    print(f"written beside the scripts: {', '.join(changed) or 'nothing'}; pushed: {', '.join(pushed) or 'nothing'}")


def snapshot() -> set[tuple[str, float]]:
    """Return the files of this folder with their times."""
    return {(str(path), path.stat().st_mtime) for path in Path().rglob("*") if path.is_file()}


def rehearse_each(
    names: Sequence[str], arguments: Mapping[str, Sequence[str]], folder: Path, limit_s: float, *, whole: bool
) -> Iterator[Told]:
    """Yield what the rehearsal of each script showed; each is told at once."""
    programs = dict(read_each(names, arguments))
    modules = sorted({module for program in programs.values() for module in wanted(program)})
    (folder / "server").mkdir()
    with RehearsalServer([sys.executable], header="", wanted=modules, folder=folder / "server", variables={}) as server:
        server.wait_ready(300)
        for name, program in programs.items():
            began_s = time.monotonic()
            part_request = make_part_request(program, folder.resolve() / name, gpu=False, offline=False)
            parts = (
                play_whole(server, [part_request], limit_s)[0]
                if whole
                else run_parts(server, part_request, limit_s, lambda _: None)
            )
            objections = observe(parts["whole"], folder / name / "whole").objections
            found = judge_parts(parts, objections, imports_s=0.0)
            yield show(Told(name, found, time.monotonic() - began_s))


def read_each(names: Sequence[str], arguments: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Program]]:
    """Yield the program of each file that is one."""
    for name in names:
        try:
            yield name, program_of(name, (), arguments.get(name, ()))
        except UsageError as error:
            print(f"{name}: {error.what}")


def show(told: Told) -> Told:
    """Print a line for a script, and one for each failure."""
    stages = " ".join(f"{each.name}{SIGNS[each.status]}" for each in told.found.stages)
    print(f"{'pass' if told.found.passed else 'FAIL'} {told.took_s:5.1f} s  {told.name:60} {stages}", flush=True)
    for each in told.found.failures:
        print(f"    {each.stage}/{each.cause.signature.name} {each.where}: {each.cause.cause[:300]}", flush=True)
    for warning in told.found.warnings:
        print(f"    warning {warning.code}: {warning.message[:200]}", flush=True)
    return told


def tell(told: Sequence[Told]) -> None:
    """Print how many passed, and of which classes the failures are."""
    classes = Counter(each.cause.signature.name for one in told for each in one.found.failures[:1])
    print(heading("Scripts that others wrote"))
    print(f"{sum(each.found.passed for each in told)} of {len(told)} pass; {sum(each.took_s for each in told):.0f} s")
    for name, count in classes.most_common():
        print(f"  {count} {name}")


if __name__ == "__main__":
    main()
