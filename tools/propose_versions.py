"""The releases in which the lines of marks are written, for marks that do not tell them: from what the libraries' releases say.

    .venv/bin/python -m tools.propose_versions [--write]

A mark is dated where its line matches messages of one package only, and spells most of what each of them says: what is worded
otherwise in some other release does not match it. Told are those that not every known release writes. `--write` puts them into
the signatures' files.
"""

import argparse
import re
from collections.abc import Iterator
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Final

from holdfast.catalog.messages import KnownMessage, load_messages, packages
from holdfast.catalog.messages.templates import HOLE
from holdfast.core.diagnose.diagnosis import Pattern, Signature
from holdfast.core.diagnose.words import words_of
from holdfast.engine.diagnose.raised import required
from holdfast.signatures import FOLDER, all_signatures

VALUES: Final = ("8", "'x'", "x", "['x']", "x.y")
"""Stand in the holes: expressions ask for numbers, names or lists."""
MOST_OF_IT: Final = 0.5
"""Share of a message's literal characters that an expression spells."""
FEWEST: Final = 25
"""Characters that it spells: of fewer, others may say the same."""
PYTHONS: Final = "object has no attribute"
"""Python says it of everything."""
SIGNS: Final = re.compile(r"\(\?[P:=!<]\w*>?|\\[wWdDsSbB]|\[[^\]]*\]|[\\()*+?|.^$]|\{\d*,?\d*\}")
"""What is no literal in an expression."""


def versions_of(pattern: Pattern) -> dict[str, str]:
    """Return the releases whose code writes a mark's line, as a mark tells them; nothing where that is not certain."""
    found = {package: [said for said, texts in _texts(package) if _says(texts, pattern.line)] for package in packages()}
    named = {package: said for package, said in found.items() if said}
    spelled = max((len(SIGNS.sub("", part)) for part in pattern.line.split("|")), default=0)
    if (
        len(named) != 1
        or PYTHONS in pattern.line
        or spelled < FEWEST
        or any(spelled < MOST_OF_IT * said.weight for each in named.values() for said in each)
    ):
        return {}
    ((package, messages),) = named.items()
    releases = reduce(or_, (place.releases for said in messages for place in said.places))
    span = required(load_messages(package).versions, releases)
    return {package: span} if span else {}


@cache
def _texts(package: str) -> list[tuple[KnownMessage, list[str]]]:
    """Return a package's messages, each with what it may look like in a log."""
    return [
        (said, [f"{said.kind}: {said.template.replace(HOLE, value)}" for value in VALUES])
        for said in load_messages(package).all()
    ]


def _says(texts: list[str], expression: str) -> bool:
    words = words_of(expression)
    return any(any(word in text for word in words) and re.search(expression, text) for text in texts)


def proposals() -> Iterator[tuple[Signature, Pattern, dict[str, str]]]:
    """Yield the marks that can be dated, and how."""
    for signature in all_signatures():
        for pattern in signature.patterns:
            if not pattern.versions and (versions := versions_of(pattern)):
                yield signature, pattern, versions


def write(path: Path, pattern: Pattern, versions: dict[str, str]) -> bool:
    """Put a mark's releases into its signature's file, beneath its line; tell whether that line was found."""
    text = path.read_text(encoding="utf-8")
    told = ", ".join(f'{package} = "{span}"' for package, span in versions.items())
    for quoted in (f"line = '''{pattern.line}'''\n", f"line = '''{pattern.line}''''\n"):
        if text.count(quoted) == 1:
            path.write_text(text.replace(quoted, f"{quoted}versions = {{ {told} }}\n"), encoding="utf-8")
            return True
    return False


def main() -> None:
    """Print the proposals, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    for signature, pattern, versions in proposals():
        written = asked.write and write(FOLDER / f"{signature.name}.toml", pattern, versions)
        print(f"{'written ' if written else ''}{signature.name}: {versions} {pattern.line}")


if __name__ == "__main__":
    main()
