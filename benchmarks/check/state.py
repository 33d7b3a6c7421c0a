"""The page about the state of the scripts: how many would fail, at what, with what they declare and with the newest."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.check.asking import Said, errors
from holdfast.catalog.api import made, newest

SHARED: Final = re.compile(
    r"takes no `(?P<argument>\w+)`|has no `(?P<method>\w+)\(\)`|has no `(?P<name>\w+)`|no module `(?P<module>[\w.]+)`"
)
WORDS: Final = {
    "argument": "the argument `{}`",
    "method": "the method `{}()`",
    "name": "the import of `{}`",
    "module": "the module `{}`",
}
HARMLESS: Final = frozenset({"HUB103"})
"""Rules whose errors stop no script: a token in clear."""
MOST: Final = 25
LONGEST: Final = 90  # characters of a message in the table


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found in one file.

    Attributes:
        row: What the list says of it.
        declared: What says which versions it gets: `header`, `requirements`, `nothing`...; empty if it was not read.
        origin: The same for people: `requirements.txt`.
        unsure: Why that is in doubt; empty where it is not.
        versions: What that resolves to.
        patched: Whether it imports a library that patches TRL.
        today: What is wrong with what it declares.
        newest: What is wrong with the newest of everything.
    """

    row: Mapping[str, Any]
    declared: str = ""
    origin: str = ""
    unsure: str = ""
    versions: Mapping[str, str]
    patched: bool = False
    today: tuple[Said, ...] = ()
    newest: tuple[Said, ...] = ()

    @property
    def name(self) -> str:
        """Where it comes from, for people."""
        return f"{self.row['repo']}:{self.row['path']}@{self.row['commit'][:7]}"


def page(found: Sequence[Answer], judged: str) -> str:
    """Return the page.

    Args:
        found: What was found in each file.
        judged: What people made of the findings, in Markdown.
    """
    users = [each for each in found if each.row["kind"] == "script"]
    read = [each for each in users if each.declared]
    plain = [each for each in read if not each.patched]
    firm = [each for each in plain if each.declared != "nothing" and not each.unsure]
    loose = [each for each in plain if each.declared == "nothing" or each.unsure]
    return "\n".join(
        [
            "# State of public scripts",
            "",
            "What `holdfast check` reports about published training scripts and notebooks, each at the commit at which it was found. They are",
            "checked, not run. None of them is stored in this repository.",
            "",
            "    python -m benchmarks.check_scripts SCRIPTS.jsonl CLONES --write docs/state-of-the-scripts.md",
            "",
            f"Measured on {time.strftime('%Y-%m-%d')} with the catalog of {made()}. Its newest releases: {_versions()}.",
            "",
            f"Of {len(users)} user scripts and notebooks, {len(read)} could be read. The others are not valid Python.",
            f"{len(read) - len(plain)} import a library that patches TRL (unsloth). The rest, the plain scripts, is counted below.",
            "",
            "## How many would fail today",
            "",
            f"- With the versions that they declare, resolved today: **{_share(firm, _fails_today)}** of those that declare any.",
            f"- With the newest release of everything: **{_share(plain, _fails_newest)}** of all plain scripts, and",
            f"  {_share(loose, _fails_newest)} of those whose versions are undeclared or in doubt.",
            "",
            "| what declares the versions | plain scripts | would fail today |",
            "| --- | ---: | ---: |",
            *_rows(plain),
            "",
            "## The most common errors, with the newest release of everything",
            "",
            "| fault | files |",
            "| --- | ---: |",
            *(f"| {fault} | {files} |" for fault, files in _faults(plain).most_common(MOST)),
            "",
            judged.strip(),
            "",
        ]
    )


def _versions() -> str:
    return ", ".join(f"{package} {version}" for package, version in sorted(newest().items()))


def _rows(plain: Sequence[Answer]) -> Iterable[str]:
    kinds = Counter(_kind(each) for each in plain)
    for kind, count in kinds.most_common():
        of = [each for each in plain if _kind(each) == kind]
        fails = _fails_newest if kind.startswith("nothing") else _fails_today
        yield f"| {kind} | {count} | {sum(map(fails, of))} |"


def _kind(answer: Answer) -> str:
    if answer.unsure:
        return "files that disagree (the newest)"
    return "nothing (the newest)" if answer.declared == "nothing" else answer.declared


def _fails(said: Sequence[Said]) -> bool:
    return any(each.code not in HARMLESS for each in errors(list(said)))


def _fails_today(answer: Answer) -> bool:
    return _fails(answer.newest if answer.unsure else answer.today)


def _fails_newest(answer: Answer) -> bool:
    return _fails(answer.newest)


def _share(answers: Sequence[Answer], fails: Callable[[Answer], bool]) -> str:
    count = sum(map(fails, answers))
    return f"{count} of {len(answers)} ({count / max(1, len(answers)):.0%})"


def _faults(answers: Sequence[Answer]) -> Counter[str]:
    """Return in how many files each fault is, most frequent first."""
    return Counter(fault for each in answers for fault in {_fault(said) for said in errors(list(each.newest))})


def _fault(said: Said) -> str:
    found = SHARED.search(said.message)
    if found and found.lastgroup:
        return WORDS[found.lastgroup].format(found[found.lastgroup])
    short = said.message if len(said.message) <= LONGEST else said.message[:LONGEST].rsplit(" ", 1)[0] + " …"
    return f"{said.code}: {short}".replace("|", "\\|")
