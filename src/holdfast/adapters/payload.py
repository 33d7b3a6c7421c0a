"""What is shipped with this package to run elsewhere."""

from importlib.resources import files


def load_runtime() -> str:
    """Return the source of the runtime that travels with every attempt."""
    return (files("holdfast.payload") / "runtime.py").read_text(encoding="utf-8")
