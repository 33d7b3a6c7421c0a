"""Which files of `src` pytest reads: those with an example in a docstring, so that no worker imports every library of the field first."""

from pathlib import Path

SOURCE = Path(__file__).parent / "src"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over a module without examples; None leaves the decision to pytest."""
    is_module = collection_path.suffix == ".py" and collection_path.is_relative_to(SOURCE)
    return True if is_module and ">>>" not in collection_path.read_text(encoding="utf-8") else None
