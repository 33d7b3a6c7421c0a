"""How often `diagnose` is right on the texts of all signatures after what happens to logs on their way.

    .venv/bin/python -m benchmarks.diagnose_perturbed [NAME…] [--cases CASES.jsonl] [--wrong]

A text is what a signature was seen in, which is its test too; with `--cases`, the lines of cases whose cause is known. Told is,
for each perturbation that changes it, the share of texts that are told first as they are without it, how many more are told
to be unknown, and how many are told to be something else with a confidence of 0.9 or more.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.diagnose_cases import first_answer, rows, tell
from holdfast.signatures import all_signatures
from tests.helpers.diagnose_perturbations import PERTURBATIONS, perturb

SURE: Final = 0.9


@dataclass(frozen=True, slots=True)
class Text:
    """A text, and what is told of it as it is."""

    of: str
    text: str
    answer: str


def texts(cases: Path | None) -> Iterator[Text]:
    """Yield the texts whose class is told right as they are."""
    pairs = (
        [(case["class"], "\n".join(case["lines"])) for case in rows(cases)]
        if cases
        else [(each.name, text) for each in all_signatures() for text in each.seen]
    )
    for name, text in pairs:
        answer = first_answer(tell(text.encode()))
        if answer == name:
            yield Text(name, text, answer)


def measure(name: str, known: Sequence[Text], *, tells: bool) -> str:
    """Return how often texts are told right after a perturbation."""
    right = tried = unknown = misled = 0
    for at, each in enumerate(known):
        text = perturb(name, each.text, at)
        if text == each.text:
            continue
        found = tell(text.encode())
        answer = first_answer(found)
        tried += 1
        right += answer == each.answer
        unknown += answer != each.answer and found.verdict == "unknown"
        misled += answer != each.answer and found.verdict == "diagnosed" and found.causes[0].confidence >= SURE
        if tells and answer != each.answer:
            print(f"--- {each.of} taken for {answer}\n{text[:1500]}")
    return f"{name:24}{right:5} of {tried:4} {right / max(1, tried):7.1%}   unknown {unknown:4}   misled {misled:4}"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    known = list(texts(options.cases))
    for name in options.names or PERTURBATIONS:
        print(measure(name, known, tells=options.wrong), flush=True)


if __name__ == "__main__":
    main()
