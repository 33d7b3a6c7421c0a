"""What rehearsals say of training scripts that strangers published: `public_scripts.json` names them.

    .venv/bin/python -m benchmarks.public_scripts collect CLONES FOLDER
    .venv/bin/python -m benchmarks.public_scripts rehearse FOLDER RESULTS [--only NAME...] [--part I/N] [--limit SECONDS]

`collect` writes each repository at its commit to `FOLDER/owner+name`, from its clone `CLONES/owner+name/repo` or `CLONES/owner+name`;
how to clone them: `git clone https://github.com/owner/name`. `rehearse` does what a user does in such a folder,
`holdfast rehearse PATH --here -- ARGUMENTS`, with models and datasets from the loopback Hub (`tests/helpers/real_world.py`). It
writes the result and what is printed to RESULTS, and skips what is there.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.adapters.rehearsal.warm import WarmServer
from holdfast.app.rehearse.rehearsing import ALWAYS, WITH_TRL
from holdfast.app.rehearse.verb import rehearse
from holdfast.cli.text.rehearsal import render_rehearsal
from holdfast.core.errors import HoldfastError
from holdfast.results import Json, to_json
from tests.helpers.hub import loopback_hub
from tests.helpers.real_world import fill

LIST: Final = Path(__file__).with_suffix(".json")
FILES: Final = ("100644", "100755")
"""Modes of files that are neither links nor submodules."""
PRELOADED: Final = (*ALWAYS, "peft", *(f"trl:{name}Trainer" for name in ("SFT", "DPO", "GRPO", "Reward")), WITH_TRL)
NOT_FOUND: Final = 404
SIGNS: Final = {"pass": "+", "fail": "F", "not_rehearsed": "."}


@dataclass(frozen=True)
class PublicScript:
    """A script of a public repository.

    Attributes:
        repository: `owner/name` on GitHub.
        commit: The commit.
        path: The script, from the repository's root; `--` if `arguments` is a whole command line.
        arguments: What it is started with: what its own documentation shows, and names of models where it has none.
        folder: Where it is started, from the repository's root.
        variables: Environment variables that its documentation asks for.
    """

    repository: str
    commit: str
    path: str
    arguments: Sequence[str] = ()
    folder: str = "."
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """A name for files."""
        words = " ".join(self.arguments[1:3]) if self.path == "--" else self.path
        return f"{self.repository}/{words}".replace("/", "+").replace(" ", "_")

    @property
    def target(self) -> str:
        """What is rehearsed, as seen from the folder in which it is started."""
        return self.path if self.path == "--" else os.path.relpath(self.path, self.folder)


class PreloadedServer(WarmServer):
    """Imports the same libraries for every script, so that those of one folder share a process."""

    def server(
        self, words: Sequence[str], *, header: str, wanted: Sequence[str], variables: Mapping[str, str]
    ) -> RehearsalServer:
        """Return a server."""
        return super().server(words, header=header, wanted=PRELOADED if wanted else (), variables=variables)


def main() -> None:
    """Collect the scripts, or rehearse them."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = words.add_subparsers(dest="verb", required=True)
    collecting, rehearsing = verbs.add_parser("collect"), verbs.add_parser("rehearse")
    collecting.add_argument("clones", type=Path)
    for each in (collecting, rehearsing):
        each.add_argument("folder", type=Path)
    rehearsing.add_argument("results", type=Path)
    rehearsing.add_argument(
        "--only", nargs="+", default=(), metavar="NAME", help="scripts whose repository or path contains it"
    )
    rehearsing.add_argument("--part", default="1/1", help="which of how many equal parts of the list")
    rehearsing.add_argument("--limit", type=float, default=180.0, help="seconds that a process of a rehearsal may take")
    options = words.parse_args()
    scripts = [PublicScript(**fields) for fields in json.loads(LIST.read_text())]
    if options.verb == "collect":
        collect(scripts, options.clones, options.folder)
    else:
        chosen = list(choose(scripts, options.only, options.part))
        rehearse_each(chosen, options.folder.resolve(), options.results.resolve(), options.limit)


def collect(scripts: Sequence[PublicScript], clones: Path, folder: Path) -> None:
    """Write the repositories of scripts, each at its commit; without the files that a partial clone lacks."""
    for repository, commit in sorted({(each.repository, each.commit) for each in scripts}):
        name = repository.replace("/", "+")
        clone = clones / name / "repo"
        git = ["git", "-C", str(clone if clone.is_dir() else clones / name)]
        listed = subprocess.run([*git, "ls-tree", "-r", "-z", commit], check=True, capture_output=True).stdout
        for entry in filter(None, listed.split(b"\0")):
            about, _, path = entry.decode().partition("\t")
            mode, kind, number = about.split()
            content = subprocess.run([*git, "cat-file", kind, number], check=False, capture_output=True)
            if mode in FILES and not content.returncode:
                target = folder / name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.stdout)


def choose(scripts: Sequence[PublicScript], names: Sequence[str], part: str) -> Iterator[PublicScript]:
    """Yield the scripts of a part of the list whose repository or path contains one of the names; no name: all."""
    which, count = map(int, part.split("/"))
    repositories = sorted({each.repository for each in scripts})
    for each in scripts:
        wanted = not names or any(name in f"{each.repository}/{each.path}" for name in names)
        if wanted and repositories.index(each.repository) % count == which - 1:
            yield each


def rehearse_each(scripts: Sequence[PublicScript], folder: Path, results: Path, limit_s: float) -> None:
    """Rehearse scripts, and store what is said of each."""
    results.mkdir(exist_ok=True, parents=True)
    with loopback_hub() as hub, PreloadedServer() as warm:
        fill(hub)
        os.environ.update(hub.variables)
        for each in scripts:
            if (results / f"{each.name}.json").exists():
                continue
            before = len(hub.requests)
            with started(each, folder):
                told, text = rehearsed(each, warm, limit_s)
            missing = sorted({request.path for request in hub.requests[before:] if request.answered == NOT_FOUND})
            (results / f"{each.name}.json").write_text(json.dumps({**told, "missing": missing}))
            (results / f"{each.name}.txt").write_text(text)
            print(f"{told['line']:60} {each.repository} {each.path}", flush=True)


@contextmanager
def started(script: PublicScript, folder: Path) -> Iterator[None]:
    """Be where a script is started, with the variables that it wants."""
    before, place = dict(os.environ), Path.cwd()
    os.environ.update(script.variables)
    os.chdir(folder / script.repository.replace("/", "+") / script.folder)
    try:
        yield
    finally:
        os.chdir(place)
        os.environ.clear()
        os.environ.update(before)


def rehearsed(script: PublicScript, warm: WarmServer, limit_s: float) -> tuple[Json, str]:
    """Return what is said of a script, as JSON and as text."""
    try:
        result = rehearse(script.target, arguments=script.arguments, here=True, limit_s=limit_s, warm=warm)
    except HoldfastError as error:
        return {"line": f"exit 2: {str(error)[:50]}"}, str(error)
    told = to_json(result)
    stages = "".join(f"{stage.name[:2]}{SIGNS[stage.status]}" for stage in result.stages)
    why = told["failure"]["class"] if told.get("failure") else ""
    return {"line": f"{told['verdict']} {stages} {why}", **told}, render_rehearsal(result)


if __name__ == "__main__":
    main()
