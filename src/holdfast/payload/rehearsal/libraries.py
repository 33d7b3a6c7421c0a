"""The libraries of the script's environment, each imported when something is first asked of it.

The script is to be the first to meet what is missing or broken there; and what it never uses costs no time.
"""

from importlib import import_module
from typing import Any


class Library:
    """Stands for a module, and has all public names of the module."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module; private ones, which `inspect` and doctests look for, are no reason to import it.

        Raises:
            AttributeError: The name is private, or the module has none of it.
            ImportError: The module cannot be imported here.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        if self._module is None:  # kept: a hook on each module of a model asks hundreds of thousands of times
            self._module = import_module(self._name)
        return getattr(self._module, name)


datasets: Any = Library("datasets")
hub: Any = Library("huggingface_hub")
np: Any = Library("numpy")
pa: Any = Library("pyarrow")
pc: Any = Library("pyarrow.compute")
peft: Any = Library("peft")
pq: Any = Library("pyarrow.parquet")
safetensors: Any = Library("safetensors")
tokenizers: Any = Library("tokenizers")
torch: Any = Library("torch")
transformers: Any = Library("transformers")
