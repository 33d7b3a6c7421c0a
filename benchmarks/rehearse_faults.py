"""How many faults a rehearsal finds, at the right stage with the right class, and how many good scripts it lets pass.

    .venv/bin/python -m benchmarks.rehearse_faults FAULTS.jsonl FOLDER [NAME...] [--wrong] [--check]

FAULTS.jsonl has `name`, `class` and `stage` of each script `FOLDER/NAME.py`; what they read lies under `work/` where they run:
`tests/helpers/fault_world.py` makes it, and `tests/helpers/fault_places.py` says where each runs: most by one server, offline, in this
environment; some with a loopback Hub; those with a header of their own as `holdfast rehearse` runs them. What takes a prepared
machine is left out, and told. Told are the share found, by stage and by class, and false alarms: failures of scripts whose class
is `healthy`.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from holdfast import check, rehearse
from holdfast.adapters.hub.rights import read_rights
from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.app.rehearse.observing import observe
from holdfast.app.rehearse.playing import judge_parts, run_parts
from holdfast.app.rehearse.rehearsing import make_part_request, wanted
from tests.helpers.fault_places import OFFLINE, PLACES, REASONS, arguments_of, stock, trouble, variables_of
from tests.helpers.fault_world import make_world
from tests.helpers.hub import LoopbackHub, loopback_hub

HEADER = re.compile(r"^#\s*///", re.MULTILINE)
HEALTHY = "healthy"
Rights = tuple[str, tuple[tuple[str, str], ...]]
PASSED = "pass"


@dataclass(frozen=True)
class Told:
    """What the rehearsal of one script showed."""

    fault: dict[str, Any]
    failed: tuple[tuple[str, str], ...]
    """Stages and classes."""
    because: str
    took_s: float

    @property
    def right_class(self) -> bool:
        """Whether the class is among those found."""
        return any(name == self.fault["class"] for _, name in self.failed)

    @property
    def right_stage(self) -> bool:
        """Whether a failure is at the stage."""
        return any(stage == self.fault["stage"] for stage, _ in self.failed)

    @property
    def right(self) -> bool:
        """Whether all is as it should."""
        return not self.failed if self.fault["class"] == HEALTHY else self.right_class and self.right_stage


def main() -> None:
    """Rehearse each, and tell the shares."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("faults", type=Path)
    words.add_argument("folder", type=Path)
    words.add_argument("names", nargs="*")
    words.add_argument("--wrong", action="store_true", help="name those that were judged otherwise")
    words.add_argument("--check", action="store_true", help="ask `holdfast check` too, and tell who finds what")
    words.add_argument("--limit", type=float, default=40.0, help="seconds that a part may take")
    asked = words.parse_args()
    faults = [json.loads(line) for line in asked.faults.read_text().splitlines()]
    chosen = [each for each in faults if (asked.folder / f"{each['name']}.py").is_file()]
    chosen = [each for each in chosen if not asked.names or each["name"] in asked.names]
    beyond = [each["name"] for each in chosen if each["name"] in REASONS]
    chosen = [each for each in chosen if each["name"] not in REASONS]
    sources = {each["name"]: (asked.folder / f"{each['name']}.py").read_text() for each in chosen}
    with TemporaryDirectory() as world, loopback_hub() as hub:
        make_world(Path(world))
        stock(hub, Path(world, "work"))
        os.chdir(world)
        told = [show(each, wrong=asked.wrong) for each in rehearse_each(chosen, sources, asked.limit, hub)]
        checked = (
            {each["name"]: is_objected(each["name"], sources[each["name"]]) for each in chosen} if asked.check else {}
        )
    tell(told)
    if checked:
        tell_both(told, checked)
    print("beyond a rehearsal here:", ", ".join(beyond) or "none")


def is_objected(name: str, source: str) -> bool:
    """True if `holdfast check` has an error to tell of a script."""
    path = Path(f"{name}.py")
    path.write_text(source)
    answer = check([str(path)], offline=True)
    return any(found["severity"] == "error" for target in answer["targets"] for found in target["findings"])


def tell_both(told: list[Told], checked: Mapping[str, bool]) -> None:
    """Print who finds the faults: check alone, the rehearsal where check does not, neither."""
    bad = [each for each in told if each.fault["class"] != HEALTHY]
    first = [each for each in bad if checked[each.fault["name"]]]
    then = [each for each in bad if each not in first and each.failed]
    alarms = sum(checked[each.fault["name"]] for each in told if each.fault["class"] == HEALTHY)
    print(
        f"check alone finds {len(first)} of {len(bad)}; check and rehearsal {len(first) + len(then)}; "
        f"neither {len(bad) - len(first) - len(then)}; false alarms of check {alarms}"
    )


def rehearse_each(
    faults: list[dict[str, Any]], sources: Mapping[str, str], limit_s: float, hub: LoopbackHub
) -> Iterator[Told]:
    """Yield what the rehearsal of each script showed, and the seconds it took."""
    headed = [each for each in faults if HEADER.search(sources[each["name"]])]
    yield from (_headed(each, sources[each["name"]]) for each in headed)
    others = [each for each in faults if each not in headed]
    everything = Program(path="all", source="\n".join(sources.values()))
    for place in sorted({PLACES.get(each["name"], OFFLINE) for each in others}):
        here = [each for each in others if PLACES.get(each["name"], OFFLINE) == place]
        variables = variables_of(place, hub)
        with TemporaryDirectory() as name, _server(everything, Path(name), variables) as server:
            with patch.dict(os.environ, variables):
                rights = read_rights()
            server.wait_ready(120)
            for fault in here:
                trouble(hub, fault["name"])
                yield _rehearsed(server, fault, sources[fault["name"]], Path(name, fault["name"]), limit_s, rights)


def _rehearsed(
    server: RehearsalServer, fault: dict[str, Any], source: str, folder: Path, limit_s: float, rights: Rights
) -> Told:
    name = fault["name"]
    program = Program(path=f"{name}.py", source=source, arguments=arguments_of(name, Path.cwd()), local=True)
    began_s = time.monotonic()
    part_request = replace(
        make_part_request(program, folder, gpu=False, offline=False), gpu="none", token=rights[0], writable=rights[1]
    )
    parts = run_parts(server, part_request, limit_s, lambda _: None)
    found = judge_parts(parts, observe(parts["whole"], folder / "whole").objections, imports_s=0.0)
    failed = tuple((each.stage, each.cause.signature.name) for each in found.failures)
    because = found.failures[0].cause.cause if found.failures else ""
    return Told(fault, failed, because, time.monotonic() - began_s)


def _headed(fault: dict[str, Any], source: str) -> Told:
    """Rehearse a script in the environment that its header asks for."""
    path = Path(f"{fault['name']}.py")
    path.write_text(source)
    began_s = time.monotonic()
    told = rehearse(str(path), set=["where.backend=local"])
    failed = tuple((each["stage"], each["class"]) for each in told["failures"])
    because = told["failures"][0]["cause"] if failed else ""
    return Told(fault, failed, because, time.monotonic() - began_s)


def _server(program: Program, folder: Path, variables: Mapping[str, str]) -> RehearsalServer:
    known = [each for each in wanted(program) if not each.startswith("trl:") or each.endswith("Trainer")]
    return RehearsalServer([sys.executable], header="", wanted=known, folder=folder, variables=variables)


def show(one: Told, *, wrong: bool) -> Told:
    """Print one that was judged otherwise than it should, if that is asked for."""
    if wrong and not one.right:
        said = "; ".join("/".join(each) for each in one.failed) or PASSED
        print(
            f"{one.fault['name']}: {one.fault['stage']}/{one.fault['class']} was {said} ({one.took_s:.1f} s)",
            flush=True,
        )
        if one.because:
            print(f"    {one.because[:300]}", flush=True)
    return one


def tell(told: list[Told]) -> None:
    """Print the shares."""
    good = [each for each in told if each.fault["class"] == HEALTHY]
    bad = [each for each in told if each.fault["class"] != HEALTHY]
    found, right = sum(bool(each.failed) for each in bad), sum(each.right_class for each in bad)
    stages, alarms = sum(each.right_stage for each in bad), sum(bool(each.failed) for each in good)
    print(
        f"found {found} of {len(bad)}; right class {right}, right stage {stages}, both {sum(each.right for each in bad)}; "
        f"false alarms {alarms} of {len(good)}; median {statistics.median(each.took_s for each in told):.1f} s"
    )


if __name__ == "__main__":
    main()
