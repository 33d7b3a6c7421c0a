"""Try signatures on their own texts and on cases, while they are being written.

    .venv/bin/python -m tools.try_signatures [NAME…] [--cases FILE] [--folder FOLDER] [--all]

Each text of `seen` must give its class first, and none of `not_seen` may. With cases, each line of which is a JSON object
with `id`, `class` and `lines`, prints what those of the named classes (or of all) are taken for. Files that do not load are
told, and left out. `--all` prints right answers too.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.core.diagnose.diagnosis import Signature
from holdfast.core.diagnose.words import words_of
from holdfast.engine.diagnose.answering import DIAGNOSED
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.judging import rank
from holdfast.engine.diagnose.matching import PatternIndex
from holdfast.engine.diagnose.reading import read_log
from holdfast.engine.diagnose.silent import find_silent
from holdfast.signatures import FOLDER, read_signature
from tests.helpers.diagnose_cases import EVERY_STEP


def main() -> int:
    """Print what is not as it should be; return 1 if anything is."""
    options = _options()
    signatures = [made for path in sorted(options.folder.glob("*.toml")) if (made := _loaded(path))]
    patterns = PatternIndex(signatures)
    chosen = [each for each in signatures if not options.names or each.name in options.names]
    wrong = sum(_tried(each, patterns) for each in chosen)
    if options.cases:
        wrong += _tried_cases(options, patterns)
    print(
        f"{len(signatures)} signatures, {sum(len(each.patterns) for each in signatures)} marks; {wrong} wrong answers"
    )
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--all", action="store_true")
    return parser.parse_args()


def _loaded(path: Path) -> Signature | None:
    """Return a file's signature; None, and why, where it is broken."""
    try:
        signature = read_signature(path.stem, path.read_text(encoding="utf-8"))
        for pattern in signature.patterns:
            re.compile(pattern.line)
            for word in words_of(pattern.line):
                if word in EVERY_STEP:
                    print(
                        f"SLOW {path.name}: {word!r} stands in what healthy jobs write at every step: {pattern.line[:100]}"
                    )
            for expression in (pattern.near, pattern.not_near, pattern.frame, pattern.not_frame, pattern.raised_in):
                re.compile(expression)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a file that somebody is writing is told, and the others tried
        print(f"BROKEN {path.name}: {error}")
        return None
    return signature


def answers(text: str, patterns: PatternIndex) -> list[Candidate]:
    """Return the classes that a text speaks for, the likeliest first."""
    log = read_log([("", [text.encode()])], patterns.sought)
    return rank(log, patterns.matches(log), find_silent(log), patterns.signatures)


def _tried(signature: Signature, patterns: PatternIndex) -> int:
    wrong = 0
    for text in signature.seen:
        found = answers(text, patterns)
        if not found or found[0].signature.name != signature.name:
            wrong += 1
            print(f"SEEN {signature.name}: got {_told(found)} for {text[:150]!r}")
    for text in signature.not_seen:
        found = answers(text, patterns)
        if found and found[0].signature.name == signature.name and found[0].score >= DIAGNOSED:
            wrong += 1
            print(f"NOT_SEEN {signature.name}: found in {text[:150]!r}")
    return wrong


def _tried_cases(options: argparse.Namespace, patterns: PatternIndex) -> int:
    wrong = right = 0
    for case in _cases(options.cases, options.names):
        found = answers("\n".join(case["lines"]) + "\n", patterns)
        is_right = bool(found) and found[0].signature.name == case["class"]
        right, wrong = right + is_right, wrong + (not is_right)
        if not is_right or options.all:
            print(f"{'right' if is_right else 'WRONG'} {case['id']}: got {_told(found)}")
            print("".join(f"        {line[:200]}\n" for line in case["lines"]) if not is_right else "", end="")
    print(f"cases: {right} right, {wrong} wrong")
    return wrong


def _cases(path: Path, names: Sequence[str]) -> Iterator[dict[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if not names or case["class"] in names:
            yield case


def _told(found: Sequence[Candidate]) -> str:
    return ", ".join(f"{each.signature.name} {each.score:.2f}" for each in found[:3]) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
