"""Known-good inputs that need no network: a chat model and a dataset that a training script makes on the spot.

Each is one module that travels inside the script as text; it imports nothing of ours.
"""

from importlib.resources import files

from holdfast.core.methods import Method

MODELS = {"builtin:tiny-chat": "tiny_chat.py"}
"""Module that makes each built-in model."""
DATASETS = {"builtin:stdlib-docstrings": "stdlib_docstrings.py"}
"""Module that makes each built-in dataset."""

COLUMNS = {
    "messages": ("messages",),
    "preference": ("prompt", "chosen", "rejected"),
    "unpaired": ("prompt", "completion", "label"),
    "prompts": ("prompt", "answer"),
}
"""Columns of each configuration of the built-in dataset."""

CONFIG_FOR = {
    Method.SFT: "messages",
    Method.DPO: "preference",
    Method.REWARD: "preference",
    Method.KTO: "unpaired",
    Method.GRPO: "prompts",
    Method.RLOO: "prompts",
}
"""Configuration that a method gets where the job names none."""


def builtin_columns(path: str, config: str | None, method: Method) -> tuple[str, ...]:
    """Return the columns of a built-in dataset; none if there is no such dataset or configuration.

    >>> builtin_columns("builtin:stdlib-docstrings", None, Method.DPO)
    ('prompt', 'chosen', 'rejected')
    """
    return COLUMNS.get(config or CONFIG_FOR[method], ()) if path in DATASETS else ()


def load_source(module: str) -> str:
    """Return the text of a module of this package, such as `tiny_chat.py`."""
    return files(__name__).joinpath(module).read_text(encoding="utf-8")
