"""How often `diagnose` is right on cases whose cause is known, each wrapped in what real logs have around it.

    .venv/bin/python -m benchmarks.diagnose_cases CASES.jsonl [--seeds 3] [--bare] [--wrong]
    .venv/bin/python -m benchmarks.diagnose_cases --logs FAULTS.jsonl FOLDER [--wrong]

A case is a JSON object with `id`, `class`, `lines`, `also` where other classes are right too, `decoy` where its lines look like
another cause, and `undecidable` where they are all that the thread shows and no reader could tell. Told are the share of first
answers that are right, the F1 of the lines given as evidence, the share of decoys that are right, and how often answers of each
confidence are. With `--logs`, each log of a folder is diagnosed as it is.

`benchmarks/diagnose` holds cases of public threads, with the address and the reason of each. Those of `threads_b.jsonl` have not been read.
"""

import argparse
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from holdfast.core.diagnose.diagnosis import HEALTHY, NOT_IN_LOG, Diagnosis
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.tracebacks import ERROR
from holdfast.signatures import all_signatures
from tests.helpers.diagnose_cases import wrap

ENDS_WELL: Final = frozenset(
    {
        HEALTHY,
        "nan-loss-silent-success",
        "model-not-pushed",
        "eos-never-learned",
        "completion-mask-drops-everything",
        "grpo-zero-advantage",
    }
    | {"grpo-reward-length-broadcast", "fp16-overflow-nan", "lr-too-high-divergence"}
)
"""Classes of jobs that come to their end."""
SAME: Final = {"healthy": HEALTHY, "unknown": NOT_IN_LOG}


@dataclass(frozen=True, slots=True)
class Told:
    """What was answered about one log, and what is true."""

    name: str
    true: str
    answer: str
    confidence: float
    diagnosis: Diagnosis
    evidence: tuple[int, int, int] = (0, 0, 0)
    decoy: bool = False
    also: frozenset[str] = frozenset()
    undecidable: bool = False

    @property
    def is_right(self) -> bool:
        """Whether the first answer is right."""
        return self.answer == self.true or self.answer in self.also


@cache
def patterns() -> PatternIndex:
    """Return the marks of all signatures."""
    return PatternIndex(all_signatures())


def first_answer(found: Diagnosis) -> str:
    """Return the class that a diagnosis names first: a healthy log and an unknown cause have one each too."""
    if found.verdict == "unknown":
        return NOT_IN_LOG
    return found.causes[0].signature.name if found.causes else HEALTHY


def tell(text: bytes) -> Diagnosis:
    """Return the diagnosis of one log."""
    return diagnose(read_log([("train.log", [text])], patterns().sought), patterns())


def told_of(case: Mapping[str, Any], seed: int, *, bare: bool) -> Told:
    """Return what is answered about a case."""
    lines: list[str] = case["lines"]
    raised = any(ERROR.match(line) for line in lines)
    wrapped = wrap(lines, seed, ends_well=case["class"] in ENDS_WELL and not raised)
    text, numbers = (
        ("\n".join(lines) + "\n", tuple(range(1, 1 + len(lines)))) if bare else (wrapped.text, wrapped.numbers)
    )
    found = tell(text.encode())
    given = {each.line for each in found.causes[0].evidence} if found.causes else set()
    true = SAME.get(case["class"], case["class"])
    both = len(given & set(numbers))
    confidence = found.causes[0].confidence if found.causes else 0.0
    return Told(
        case["id"],
        true,
        first_answer(found),
        confidence,
        found,
        (both, len(given), len(numbers)),
        bool(case.get("decoy")),
        frozenset(SAME.get(name, name) for name in case.get("also", ())),
        bool(case.get("undecidable")),
    )


def told_of_log(row: Mapping[str, Any], folder: Path) -> Told:
    """Return what is answered about an injected fault's log."""
    found = tell((folder / f"{row['name']}.log").read_bytes())
    true = SAME.get(row["class"], row["class"])
    return Told(row["name"], true, first_answer(found), found.causes[0].confidence if found.causes else 0.0, found)


def share(told: Sequence[Told]) -> str:
    """Return how many answers are right, and which share."""
    right = sum(each.is_right for each in told)
    return f"{right} of {len(told)} ({right / max(1, len(told)):.1%})"


def f1(told: Sequence[Told]) -> float:
    """Return the F1 of the lines of all answers together; those of cases without a cause in the log do not count."""
    counted = [each.evidence for each in told if each.true not in (NOT_IN_LOG, HEALTHY)]
    both, given, true = (sum(each[at] for each in counted) for at in range(3))
    return 2 * both / max(1, given + true)


def calibration(told: Sequence[Told]) -> Iterator[str]:
    """Yield how often answers of each confidence are right."""
    bounds = (0.0, 0.5, 0.7, 0.8, 0.9, 1.01)
    for low, high in itertools.pairwise(bounds):
        inside = [each for each in told if each.diagnosis.causes and low <= each.confidence < high]
        if inside:
            yield f"  confidence {low:.1f} to {min(high, 1):.1f}: {share(inside)}"


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file that has one on each line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--logs", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    cases = rows(options.cases)
    if options.logs:
        told = [told_of_log(row, options.folder) for row in cases]
    else:
        seeds = range(1 if options.bare else options.seeds)
        told = [told_of(row, 100 * at + seed, bare=options.bare) for at, row in enumerate(cases) for seed in seeds]
    for each in told if options.wrong else ():
        if not each.is_right:
            causes = ", ".join(f"{cause.signature.name} {cause.confidence:.2f}" for cause in each.diagnosis.causes[:3])
            print(f"{each.name}: {each.true} taken for {each.answer}; {causes}")
    print(
        f"right first: {share(told)}; decoys: {share([each for each in told if each.decoy])}; evidence F1: {f1(told):.3f}"
    )
    if any(each.undecidable for each in told):
        print(
            f"right first, of those that their text decides: {share([each for each in told if not each.undecidable])}"
        )
    print("\n".join(calibration(told)))


if __name__ == "__main__":
    main()
