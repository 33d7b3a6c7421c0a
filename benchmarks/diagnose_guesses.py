"""How often the guess of `diagnose` is right about texts that its signatures have not seen: every fifth is set aside in turn.

    .venv/bin/python -m benchmarks.diagnose_guesses [--folds 5]

Guessed is by words alone, as for a log in which no signature knows a line. Texts of one class are often alike, so this is kinder than a
new log: of those that signatures were widened by later, half were guessed right with the most confidence, one in five with the least.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.core.diagnose.diagnosis import Signature
from holdfast.engine.diagnose import PatternIndex, read_log
from holdfast.engine.diagnose.guessing import TELLS_NOTHING, guess
from holdfast.engine.diagnose.unknown_exceptions import USER_CODE
from holdfast.signatures import all_signatures


def guesses(signatures: Sequence[Signature], fold: int, folds: int) -> Iterator[tuple[str, str, float]]:
    """Yield of each text that is set aside its class, the one that is guessed, empty where none is, and how sure that is."""
    kept = [
        replace(each, seen=tuple(text for at, text in enumerate(each.seen) if at % folds != fold))
        for each in signatures
    ]
    patterns = PatternIndex(kept)
    for each in signatures:
        for text in each.seen[fold::folds] if each.name not in (*TELLS_NOTHING, USER_CODE) else ():
            found = guess(read_log([("x.log", [text.encode()])], patterns.sought), (), patterns)
            yield each.name, *((found[0].signature.name, found[0].score) if found else ("", 0.0))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=5)
    folds = parser.parse_args().folds
    signatures = all_signatures()
    told = [each for fold in range(folds) for each in guesses(signatures, fold, folds)]
    given, right = Counter[float](), Counter[float]()
    for true, name, score in told:
        given[round(score, 1)] += 1
        right[round(score, 1)] += true == name
    print(f"right: {right.total()} of {given.total()} ({right.total() / given.total():.1%})")
    for score in sorted(given):
        print(f"  score about {score}: {right[score]} of {given[score]} ({right[score] / given[score]:.0%})")


if __name__ == "__main__":
    main()
