"""Write into README.md what the commands of its console blocks print.

Commands that only read files are run, in `examples/mistakes`; what others print stays as it was copied. Of a long answer a
block shows the beginning and the end, with a line `…` between.
"""

import os
import re
import shlex
from contextlib import chdir
from pathlib import Path
from typing import Final

import click
from click.testing import CliRunner

from holdfast.cli.main import cli
from holdfast.core.errors import HoldfastError

ROOT: Final = Path(__file__).parent.parent
README: Final = ROOT / "README.md"
FOLDER: Final = ROOT / "examples" / "mistakes"
BLOCK: Final = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
COMMAND: Final = re.compile(r"^\$ ", re.MULTILINE)
READING: Final = frozenset({"check", "inspect", "plan", "diagnose", "explain"})
WRITING: Final = frozenset({"--fix", "--unsafe-fixes", "&&"})
CUT: Final = "…"


def render_document(text: str) -> str:
    """Return a document with the answers of its console blocks as they are now."""
    return BLOCK.sub(lambda block: render_block(block[0]), text)


def render_block(block: str) -> str:
    """Return a console block with the answers of its commands."""
    _, *parts = COMMAND.split(block)
    return "".join(_render_command(*part.split("\n", 1)) for part in parts)


def _render_command(line: str, shown: str) -> str:
    _, *words = shlex.split(line)
    if words[0] not in READING or WRITING & {*words}:
        return f"$ {line}\n{shown}"
    end = "\n" if shown.endswith("\n\n") else ""
    return f"$ {line}\n{cut_like(run(words), shown.rstrip())}\n{end}"


def run(words: list[str]) -> str:
    """Return what a command prints, to a terminal of a hundred columns."""
    with chdir(FOLDER):
        result = CliRunner(env={"COLUMNS": "100"}).invoke(cli, words, standalone_mode=False)
    if isinstance(result.exception, (HoldfastError, click.ClickException)):
        raise result.exception
    return result.output.rstrip()


def cut_like(answer: str, shown: str) -> str:
    r"""Return an answer, cut where the text that is shown is cut.

    >>> cut_like("1\n2\n3\n4", "a\n…\nb")
    '1\n…\n4'
    """
    before, cut, after = shown.partition(f"\n{CUT}")
    if not cut:
        return answer
    lines, first, last = answer.split("\n"), before.count("\n") + 1, after.count("\n")
    return "\n".join([*lines[:first], CUT, *lines[len(lines) - last :]])


if __name__ == "__main__":
    os.environ["NO_COLOR"] = "1"
    README.write_text(render_document(README.read_text(encoding="utf-8")), encoding="utf-8")
