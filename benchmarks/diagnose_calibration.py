"""How often a class with a given score is the cause.

    .venv/bin/python -m benchmarks.diagnose_calibration CASES.jsonl [--seeds 4] [--logs FAULTS.jsonl FOLDER]

Each case is wrapped as benchmarks.diagnose_cases does it. The scores of all first answers are put in order, and shares of right
ones are made to rise with them (pool adjacent violators). Beside what was counted, each point has
one right and one wrong answer more (Laplace): nothing is ever certain after some hundred cases.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.diagnose_cases import ENDS_WELL, SAME, patterns, rows
from holdfast.engine.diagnose.judging import rank
from holdfast.engine.diagnose.reading import read_log
from holdfast.engine.diagnose.silent import find_silent
from tests.helpers.diagnose_cases import wrap

Scored = tuple[float, bool]
"""A score, and whether the class that had it was the cause."""
FEWEST: Final = 25
"""Answers that a point stands for."""


def first_score(text: bytes, true: str) -> Iterator[Scored]:
    """Yield the score of the class told first, and whether it is right; nothing if none is told."""
    log = read_log([("train.log", [text])], patterns().sought)
    found = rank(log, patterns().matches(log), find_silent(log), patterns().signatures)
    if found:
        yield found[0].score, found[0].signature.name == true


def pooled(scored: Sequence[Scored]) -> list[tuple[float, float, int]]:
    """Return mean scores, shares of right answers that rise with them, and how many answers each stands for."""
    ordered = sorted(scored)
    groups = [list(ordered[at : at + FEWEST]) for at in range(0, len(ordered), FEWEST)]
    at = 0
    while at + 1 < len(groups):
        if _share(groups[at]) >= _share(groups[at + 1]):
            groups[at] += groups.pop(at + 1)
            at = max(0, at - 1)
        else:
            at += 1
    return [(sum(score for score, _ in group) / len(group), _share(group), len(group)) for group in groups]


def _share(group: Sequence[Scored]) -> float:
    return (sum(right for _, right in group) + 1) / (len(group) + 2)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--logs", type=Path, nargs=2)
    options = parser.parse_args()
    scored: list[Scored] = []
    for at, case in enumerate(rows(options.cases)):
        true = SAME.get(case["class"], case["class"])
        for seed in range(options.seeds):
            wrapped = wrap(case["lines"], 100 * at + seed, ends_well=case["class"] in ENDS_WELL)
            scored += first_score(wrapped.text.encode(), true)
    for row in rows(options.logs[0]) if options.logs else ():
        scored += first_score(
            (options.logs[1] / f"{row['name']}.log").read_bytes(), SAME.get(row["class"], row["class"])
        )
    for score, share, answers in pooled(scored):
        print(f"{answers} answers with a score about {score:.3f}: {share:.1%} right")


if __name__ == "__main__":
    main()
