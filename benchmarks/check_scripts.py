"""What `holdfast check` says of real scripts: of those named in a list, each at the commit named there.

    .venv/bin/python -m benchmarks.check_scripts SCRIPTS.jsonl CLONES [--write docs/state-of-the-scripts.md] [--list]

Each line of SCRIPTS.jsonl names a file: `repo`, `path`, `commit`, `kind` (`script`, `library` or `trl-example`), and what
an earlier, simpler checker found in it. CLONES holds a git clone of each repository: `<owner>+<name>/repo`. Each file is
written to a temporary folder with what lies around it in its repository, and checked there. None is executed.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.check.asking import ask, declared_at, errors, newest_of_all, patched, read
from benchmarks.check.clones import Clone, around, lay_out
from benchmarks.check.state import Answer, page
from benchmarks.machine import heading

Row = Mapping[str, Any]
KINDS: Final = ("script", "library")
RECURSION: Final = 10_000
JUDGED: Final = Path(__file__).parent / "check" / "judged.md"
"""What came of reading the errors and the differences to the earlier checker, one by one."""


def answers(rows: Iterable[Row], clones: Path) -> Iterator[Answer]:
    """Yield what is found in each file, those of one commit together."""
    ordered = sorted(rows, key=_commit)
    for (repo, commit), several in groupby(ordered, key=_commit):
        clone = Clone(clones / repo.replace("/", "+") / "repo")
        with TemporaryDirectory() as folder:
            yield from _at_commit(clone, commit, list(several), Path(folder))


def _commit(row: Row) -> tuple[str, str]:
    return row["repo"], row["commit"]


def _at_commit(clone: Clone, commit: str, rows: Sequence[Row], root: Path) -> Iterator[Answer]:
    scripts = {PurePosixPath(row["path"]) for row in rows}
    needed = scripts | around(clone.paths(commit), scripts)
    lay_out(clone.contents(commit, sorted(needed)), root)
    for row in rows:
        yield _answer(row, root / row["path"])


def _answer(row: Row, path: Path) -> Answer:
    target = read(path) if path.is_file() else None
    if target is None:
        return Answer(row=row, versions={})
    version_context = declared_at(path)
    return Answer(
        row=row,
        declared=version_context.declared.kind,
        origin=version_context.declared.origin,
        unsure=version_context.declared.unsure,
        versions=version_context.resolution.newest,
        patched=patched(target),
        today=tuple(ask(target, version_context)),
        newest=tuple(ask(target, newest_of_all())),
    )


def load_rows(path: Path) -> list[Row]:
    """Return the list's lines that are scripts or parts of libraries."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["kind"] in KINDS]


def _print(found: Sequence[Answer]) -> None:
    for answer in found:
        for said in errors(list(answer.today)):
            place = f"{answer.name}:{said.where}"
            print(f"{said.code} {place}: {said.message}  [{answer.origin}; {dict(answer.versions)}]")


def script_arguments(about: str | None) -> argparse.ArgumentParser:
    """Return a parser of what every benchmark on scripts of others is given: their list, and clones of their repositories."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("scripts", type=Path, metavar="SCRIPTS.jsonl")
    parser.add_argument("clones", type=Path, metavar="CLONES")
    return parser


def main() -> None:
    """Check all files of a list, print what is wrong with what they declare, and write the page about it."""
    parser = script_arguments(__doc__)
    parser.add_argument("--write", type=Path, help="where to write the page")
    parser.add_argument("--list", action="store_true", help="print each error")
    told = parser.parse_args()
    sys.setrecursionlimit(RECURSION)
    begun = time.perf_counter()
    found = list(answers(load_rows(told.scripts), told.clones))
    if told.list:
        _print(found)
    print(heading("scripts of others"), f"{time.perf_counter() - begun:.0f} s")
    print(Counter((answer.row["kind"], answer.declared or "not read") for answer in found))
    text = page(found, JUDGED.read_text(encoding="utf-8"))
    print(text)
    if told.write:
        told.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
