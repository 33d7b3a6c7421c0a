"""What `holdfast check` says of TRL's own scripts, notebooks and documentation, at each release's own versions.

    .venv/bin/python -m benchmarks.check_trl_examples CLONE [--since 0.9] [--only v0.22.2] [--findings FILE]

CLONE is a git clone of TRL with its tags. At each tag, every script and notebook below `examples/`, `scripts/` and
`trl/scripts/`, and every code block of `docs/source/` and of the skills, is checked against that release of TRL, with the
newest releases of the other packages on its day that its bounds admit. An error is a false alarm unless the file is
truly stale; docs/figures/check.md lists those that are. With `--library`, TRL's own modules and tests are checked too.
"""

import argparse
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.check.asking import Said, ask, declared_at, errors, exactly, read, release_dates
from benchmarks.check.clones import Clone, lay_out
from benchmarks.check.doc_blocks import read_blocks
from benchmarks.machine import heading
from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.environment.versions import admits
from holdfast.core.text.places import Place
from holdfast.engine.check.program_facts import VersionContext
from holdfast.engine.resolve import resolve

PACKAGES: Final = ("peft", "bitsandbytes", "trackio", "accelerate", "datasets", "huggingface-hub")
"""What the examples need beside TRL and what that needs."""
SCRIPTS: Final = ("examples/", "scripts/", "trl/scripts/")
PAGES: Final = ("docs/source/", "trl/skills/")
LIBRARY: Final = ("trl/", "tests/")
VERSION: Final = re.compile(r"(?<=[a-z]) \d+\.\d+(\.\d+)*")
BLOCK: Final = re.compile(r"\.mdx?\.\d+\.\w+$")
"""The number of a block on its page differs from tag to tag."""
RECURSION: Final = 10_000


ABSENT_FILE: Final = "ARG123"
"""The rule about files that a command names and that are not there."""


class Found(NamedTuple):
    """What was found in one file or block.

    Attributes:
        path: Its path at the tag.
        said: The findings.
        is_read: Whether it could be read at all.
    """

    path: str
    said: list[Said]
    is_read: bool


def versions_at(version: str) -> VersionContext:
    """Return a release of TRL with the newest of the rest on its day."""
    day = date.fromisoformat(release_dates("trl")[version]) + timedelta(days=1)
    named = [Requirement(name="trl", specifier=f"=={version}", place=Place(""))]
    named += [Requirement(name=name, place=Place("")) for name in PACKAGES]
    resolution = resolve(ProjectRequirements(kind="requirements", requirements=tuple(named), before=day.isoformat()))
    return exactly(resolution.newest, day.isoformat())


def at_tag(clone: Clone, tag: str, *, library: bool) -> Iterator[Found]:
    """Yield what is found in each file of a tag."""
    version_context = versions_at(tag.removeprefix("v"))
    paths = clone.paths(tag)
    scripts = [path for path in paths if path.suffix in (".py", ".ipynb") and _below(path, SCRIPTS)]
    if library:
        scripts = [path for path in paths if path.suffix == ".py" and _below(path, LIBRARY)]
    pages = [] if library else [path for path in paths if path.suffix in (".md", ".mdx") and _below(path, PAGES)]
    with TemporaryDirectory() as folder:
        root = Path(folder)
        lay_out(clone.contents(tag, [*scripts, *pages]), root)
        for path in [*scripts, *_blocks(root, pages)]:
            yield _found(root, path, version_context)


def _blocks(root: Path, pages: Iterable[PurePosixPath]) -> Iterator[PurePosixPath]:
    """Write each block of each page beside the page, and yield its path."""
    for page in pages:
        text = (root / page).read_text(encoding="utf-8", errors="replace")
        for number, (suffix, block) in enumerate(read_blocks(text), 1):
            path = page.with_name(f"{page.name}.{number}{suffix}")
            (root / path).write_text(block, encoding="utf-8")
            yield path


def _found(root: Path, path: PurePosixPath, version_context: VersionContext) -> Found:
    target = read(root / path)
    if target is None:
        return Found(str(path), [], is_read=False)
    return Found(str(path), ask(target, _without_sources(root / path, version_context)), is_read=True)


def _without_sources(path: Path, version_context: VersionContext) -> VersionContext:
    """Return the versions without those that a file itself takes from a repository's newest source, TRL's apart."""
    declared = declared_at(path).declared
    taken = {each.package for each in declared.requirements if each.url} - {"trl"}
    versions = {name: version for name, version in version_context.resolution.newest.items() if name not in taken}
    return exactly(versions, version_context.resolution.date)


def _below(path: PurePosixPath, folders: tuple[str, ...]) -> bool:
    return str(path).startswith(folders)


def tags_since(clone: Clone, since: str) -> list[str]:
    """Return the tags of releases in the catalog from a version on, oldest first."""
    known = list(release_dates("trl"))
    tags = {tag.removeprefix("v"): tag for tag in clone.tags()}
    return [tags[version] for version in known if version in tags and admits(f">={since}", version)]


def _is_only_named(found: Found, said: Said) -> bool:
    """True if a page names a file that its reader is to have."""
    return said.code == ABSENT_FILE and BLOCK.search(found.path) is not None


def main() -> None:
    """Check all files at all tags, and print how many there are and the distinct errors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clone", type=Path, metavar="CLONE")
    parser.add_argument("--since", default="0.9")
    parser.add_argument("--only", action="append", help="a tag to check; all where none is given")
    parser.add_argument("--library", action="store_true", help="TRL's own modules and tests instead")
    parser.add_argument("--findings", type=Path, help="where to write every finding, as JSON lines")
    told = parser.parse_args()
    sys.setrecursionlimit(RECURSION)
    clone, begun = Clone(told.clone), time.perf_counter()
    distinct: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    lines: list[str] = []
    print(heading("TRL's own files"))
    for tag in told.only or tags_since(clone, told.since):
        found = list(at_tag(clone, tag, library=told.library))
        wrong = [(each.path, said) for each in found for said in errors(each.said) if not _is_only_named(each, said)]
        for path, said in wrong:
            tags = distinct[said.code, VERSION.sub("", said.message), BLOCK.sub(".md", path)]
            tags += [tag] if tag not in tags else []
        lines += [json.dumps({"tag": tag, "path": each.path, **asdict(said)}) for each in found for said in each.said]
        kinds = Counter(PurePosixPath(each.path).suffix for each in found if each.is_read)
        unread = sum(not each.is_read for each in found)
        files = len({path for path, _ in wrong})
        print(f"{tag:9} {dict(kinds)} read, {unread} not; {len(wrong)} errors in {files}", flush=True)
    for (code, message, path), tags in sorted(distinct.items()):
        print(f"{code} {path} [{tags[0]}..{tags[-1]}, {len(tags)}]: {message}")
    print(f"{time.perf_counter() - begun:.0f} s")
    if told.findings:
        told.findings.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
