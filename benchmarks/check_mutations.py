"""How many faults `holdfast check` finds: good scripts are mutated, and the installed libraries say which are faults.

    .venv/bin/python -m benchmarks.check_mutations [--seed 0] [--count 600] [--list]

A mutation that the libraries refuse (see benchmarks/check/real.py) should be an error; one that they take should not.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.check.asking import Said, ask, errors, exactly, read
from benchmarks.check.mutate import KINDS, Mutation, mutations
from benchmarks.machine import heading
from holdfast.adapters.declared import read_environment_at
from holdfast.app.render.verb import render
from holdfast.engine.check.program_facts import VersionContext
from holdfast.engine.resolve import resolve
from tests.helpers.tiny import make_tiny

QUIET: Final = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_OFFLINE": "1",
    "PYTHONWARNINGS": "ignore",
    "TRANSFORMERS_VERBOSITY": "error",
}
"""Environment variables that keep the libraries from talking and from asking the network, set before they are imported."""
ROOT: Final = Path(__file__).parent.parent
GOOD: Final = ROOT / "benchmarks" / "good"


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutation with what the libraries and the rules say of it.

    Attributes:
        script: The script's name.
        mutation: The mutation.
        refused: What the libraries refuse.
        errors: What the rules say is an error.
    """

    script: str
    mutation: Mutation
    refused: Sequence[str]
    errors: Sequence[Said]

    def __str__(self) -> str:
        said = "; ".join(f"{each.code} {each.message}" for each in self.errors)
        return f"{self.mutation.kind:9} {self.script}: {self.mutation.what}  | {'; '.join(self.refused)[:160]} | {said[:200]}"


def good_scripts() -> dict[str, str]:
    """Return the scripts that mutations are made of: hand-written, rendered, and TRL's own."""
    import trl

    written = sorted(GOOD.glob("*.py"))
    own = sorted((Path(trl.__file__).parent / "scripts").glob("*.py"))
    jobs = sorted((ROOT / "examples").glob("*.yaml"))
    scripts = {path.name: path.read_text(encoding="utf-8") for path in written}
    scripts |= {f"trl/scripts/{path.name}": path.read_text(encoding="utf-8") for path in own}
    scripts |= {f"rendered {path.stem}": render(str(path)) for path in jobs}
    return {name: text for name, text in scripts.items() if "Trainer(" in text}


def installed() -> VersionContext:
    """Return the versions of this environment."""
    found = resolve(read_environment_at(Path(sys.prefix)))
    return exactly(found.newest, found.date)


def judged(seed: int) -> Iterator[Judged]:
    """Yield distinct mutations of the good scripts with what is said of them, of each script in turn."""
    from benchmarks.check.real import Judge

    version_context, scripts = installed(), good_scripts()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "train.py"
        make_tiny(Path(folder) / "tiny")
        judge = Judge(Path(folder) / "tiny")
        sources = {name: mutations(text, seed + number) for number, (name, text) in enumerate(scripts.items())}
        baseline = {name: set(judge.refusals(text)) for name, text in scripts.items()}
        for name, refused in baseline.items():
            for each in refused:
                print(f"a good script is refused: {name}:{each}", file=sys.stderr)
        while sources:
            for name in list(sources):
                mutation = next(sources[name], None)
                if mutation is None:
                    del sources[name]
                    continue
                news = [each for each in judge.refusals(mutation.text) if each not in baseline[name]]
                path.write_text(mutation.text, encoding="utf-8")
                target = read(path)
                yield Judged(name, mutation, news, errors(ask(target, version_context)) if target else [])


def main() -> None:
    """Judge mutations until enough of them are refused, and print how many of those were found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=600, help="refused mutations to judge")
    parser.add_argument("--list", action="store_true", help="print every mutation")
    told = parser.parse_args()
    os.environ |= QUIET
    every: list[Judged] = []
    for each in judged(told.seed):
        every.append(each)
        if told.list:
            print(each, flush=True)
        if sum(bool(one.refused) for one in every) >= told.count:
            break
    print(heading("mutations"))
    report(every)


def report(every: Sequence[Judged]) -> None:
    """Print the figures and what was missed or told without a cause."""
    refused = [each for each in every if each.refused]
    missed = [each for each in refused if not each.errors]
    alarms = [each for each in every if each.errors and not each.refused]
    for title, listed in (("missed", missed), ("told, though the libraries take it", alarms)):
        print(f"{title}:")
        for each in listed:
            print(f"  {each}")
    of, lost = Counter(each.mutation.kind for each in refused), Counter(each.mutation.kind for each in missed)
    for kind in KINDS:
        print(f"{kind:9} {of[kind] - lost[kind]} of {of[kind]}")
    found = len(refused) - len(missed)
    print(f"{len(every)} mutations, {len(refused)} refused, {found} of them found: {found / max(1, len(refused)):.1%}")
    print(f"{len(every) - len(refused)} taken, {len(alarms)} of them called errors")


if __name__ == "__main__":
    main()
