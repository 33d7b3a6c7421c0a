"""Which modules without tests pytest reads: those with an example in a docstring, so that no worker imports every library first."""

from pathlib import Path

HERE = Path(__file__).parent
WITHOUT_TESTS = (HERE / "src", HERE / "tests" / "helpers")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over a module without examples; None leaves the decision to pytest."""
    is_module = collection_path.suffix == ".py" and any(map(collection_path.is_relative_to, WITHOUT_TESTS))
    return True if is_module and ">>>" not in collection_path.read_text(encoding="utf-8") else None
