"""The capabilities of backends decide, never their names."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.job.document import Document, DocumentKind
from holdfast.core.run.backends import CAPABILITIES, UNSAID, backend_of, capabilities_of

SOURCES = sorted(Path(holdfast.__file__).parent.rglob("*.py"))


def compared_names(path: Path) -> Iterator[str]:
    """Yield each backend's name that a module compares a value with, by its place."""
    text = path.read_text(encoding="utf-8")
    if not any(f'"{name}"' in text for name in CAPABILITIES):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Constant) and isinstance(side.value, str) and side.value in CAPABILITIES:
                    yield f"{path.name}:{node.lineno}: {side.value}"


def test_no_module_compares_a_backends_name() -> None:
    """What a backend can do is asked of its capabilities, so that a new one changes no rule and no verb."""
    assert [found for path in SOURCES for found in compared_names(path)] == []


@pytest.mark.parametrize(
    ("kind", "where", "name", "is_here"),
    [
        ("job", {}, "local", True),
        ("job", {"backend": "hf-jobs"}, "hf-jobs", False),
        ("job", {"backend": "mars"}, "mars", False),
        ("script", {}, "", False),
        ("command", {"backend": "slurm"}, "slurm", False),
    ],
)
def test_a_job_file_runs_here_unless_it_says_otherwise(
    kind: DocumentKind, where: dict[str, str], name: str, is_here: bool
) -> None:
    """A program that does not say where it runs is not taken to run on this machine."""
    found = backend_of(Document(path="x", kind=kind, values={"where": where}))

    assert (found.name, found.is_here) == (name, is_here)


def test_a_program_that_names_no_backend_reads_its_files_here() -> None:
    """Files that a command names are looked for here, unless it is sent to a machine that does not have them."""
    assert capabilities_of(None) is UNSAID
    assert UNSAID.shares_files
    assert not capabilities_of("hf-jobs").shares_files
