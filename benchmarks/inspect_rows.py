"""How long judging a million chat rows of JSON Lines takes, and how much memory, beside a `datasets.map` loop.

    .venv/bin/python -m benchmarks.inspect_rows [--rows 1000000] [--sample 100000] [--folder DIR]

Both read the same file and find the same damage, which is compared. Each runs in a process of its own. The loop, two
processes of plain Python over rows as people write it, is given a sample, the first rows of the file, and its time is taken
for as much longer as the file is; `--sample 1000000` gives it all of them. Imports are counted for neither.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.machine import heading
from benchmarks.make_rows import make

CORES = 2
BOUND_S, BOUND_MB, BOUND_RATIO = 60, 2000, 5


def judge_with_holdfast(path: Path) -> dict[str, int]:
    """Return how many rows have each kind of damage."""
    from holdfast.adapters.rows.opening import open_rows
    from holdfast.catalog.formats import DEFAULTS, recognise
    from holdfast.engine.scan import scan_rows

    rows = open_rows(path)
    scan = scan_rows(rows, recognise(rows.columns), method="sft", settings=DEFAULTS, eval_rows=None)
    return {f"{marked.mark} {marked.detail}".strip(): marked.count for marked in scan.marked}


def damage_of(row: dict[str, Any], patterns: dict[str, re.Pattern[str]]) -> Iterator[str]:
    """Yield what is wrong with a row, as one would write it in Python."""
    messages = row["messages"]
    if messages is None:
        yield "null"
    elif not messages:
        yield "empty"
    else:
        yield from _damage_of_roles([{"human": "user"}.get(turn["role"], turn["role"]) for turn in messages])
        for turn in messages:
            yield from _damage_of_turn(turn, patterns)


def _damage_of_turn(turn: dict[str, Any], patterns: dict[str, re.Pattern[str]]) -> Iterator[str]:
    if turn["role"] not in ("system", "user", "assistant", "tool", "developer"):
        yield f"unknown-role {turn['role']}"
    content = turn["content"]
    if content is None:
        yield "empty-turn null"
    else:
        if not content.strip() and turn["role"] != "system":
            yield "empty-turn blank"
        yield from (f"encoding {what}" for what, pattern in patterns.items() if pattern.search(content))


def _damage_of_roles(roles: list[str]) -> Iterator[str]:
    if "assistant" not in roles:
        yield "no-assistant"
    elif roles[-1] != "assistant":
        yield "last-turn"
    if "user" not in roles:
        yield "no-user"
    elif roles[0] == "assistant" or roles[:2] == ["system", "assistant"]:
        yield "role-order the assistant speaks first"
    yield from _damage_of_neighbours(roles)


def _damage_of_neighbours(roles: list[str]) -> Iterator[str]:
    for one, other in pairwise(roles):
        if one == other and one in ("user", "assistant"):
            yield f"role-order two {one} turns in a row"
        if other == "system":
            yield "role-order a system turn that is not the first"
        if other == "tool" and one in ("system", "user"):
            yield "role-order a tool answers where nothing called it"


def judge_with_a_loop(path: Path) -> dict[str, int]:
    """Return the same of `datasets.map`: a function for each row, in two processes."""
    from datasets import load_dataset

    from holdfast.engine.scan.wording import DAMAGE

    patterns = {what: re.compile(pattern) for what, pattern in DAMAGE.items()}

    def judge(row: dict[str, Any]) -> dict[str, Any]:
        same = hash(json.dumps(row["messages"])) if row["messages"] is not None else None
        return {"damage": sorted(set(damage_of(row, patterns))), "same": same}

    rows = load_dataset("json", data_files=str(path), split="train", cache_dir=str(path.parent / "cache"))
    judged = rows.map(judge, num_proc=CORES, remove_columns=rows.column_names)
    counted = Counter(name for names in judged["damage"] for name in names)
    hashes = [one for one in judged["same"] if one is not None]
    return dict(counted) | {"duplicate": len(hashes) - len(set(hashes))}


IMPORTS = {
    "holdfast": ("holdfast.adapters.rows.opening", "holdfast.engine.scan"),
    "loop": ("datasets", "holdfast.engine.scan"),
}
ARMS = {"holdfast": judge_with_holdfast, "loop": judge_with_a_loop}


def measure(arm: str, path: Path) -> None:
    """Run one of both in this process, and write its figures."""
    for module in IMPORTS[arm]:
        import_module(module)
    began = time.perf_counter()
    found = ARMS[arm](path)
    seconds = time.perf_counter() - began
    used = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"seconds": seconds, "mb": used / 1000, "found": {k: v for k, v in found.items() if v}}))


def run(arm: str, path: Path) -> dict[str, Any]:
    """Return the figures of one of both, run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.inspect_rows", "--arm", arm, "--path", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


ENVIRONMENT = {"PYTHONHASHSEED": "0", "POLARS_MAX_THREADS": str(CORES), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"}


def compare(count: int, sampled: int, folder: Path) -> None:
    """Make the rows, judge them both ways, and print the figures."""
    whole, sample = folder / "rows.jsonl", folder / "sample.jsonl"
    make(count, [whole], damaged=count // 500)
    with whole.open(encoding="utf-8") as lines, sample.open("w", encoding="utf-8") as some:
        some.writelines(line for line, _ in zip(lines, range(sampled), strict=False))
    ours, ours_of_sample, loop = run("holdfast", whole), run("holdfast", sample), run("loop", sample)
    if ours_of_sample["found"] != loop["found"]:
        sys.exit(f"not the same damage: {ours_of_sample['found']} and {loop['found']}")
    scaled = loop["seconds"] * count / sampled
    print(heading("inspect: every row judged"))
    print(
        f"{count:,} rows, {whole.stat().st_size / 1e6:,.0f} MB of JSON Lines, {sum(ours['found'].values()):,} damaged"
    )
    print(
        f"holdfast   {ours['seconds']:8.1f} s   {ours['mb']:8,.0f} MB at most   (bounds {BOUND_S} s, {BOUND_MB:,} MB)"
    )
    print(f"a loop     {scaled:8.1f} s   (from {loop['seconds']:.1f} s for {sampled:,} rows; the same damage is found)")
    print(f"ratio      {scaled / ours['seconds']:8.1f}     (bound {BOUND_RATIO})")


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=100_000, help="rows that the loop is given")
    parser.add_argument("--folder", type=Path, help="where the rows are written, for as long as it takes")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.arm:
        measure(asked.arm, asked.path)
        return
    with TemporaryDirectory(dir=asked.folder) as folder:
        compare(asked.rows, min(asked.sample, asked.rows), Path(folder))


if __name__ == "__main__":
    main()
