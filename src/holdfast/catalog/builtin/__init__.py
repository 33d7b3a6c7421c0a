"""What travels inside training scripts: known-good inputs that need no network, and the metrics of answers.

Each is one module that travels inside the script as text; it imports nothing of ours.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import STRING, ListOf, Scalar, Struct, Type

BUILTIN: Final = "builtin:"
"""How the names of what holdfast makes begin."""
MODELS = {"builtin:tiny-chat": "tiny_chat.py"}
"""Module that makes each built-in model."""
DATASETS = {"builtin:stdlib-docstrings": "stdlib_docstrings.py"}
"""Module that makes each built-in dataset."""

ANSWER_SCORES: Final = "answer_scores.py"
"""Module that computes the metrics of answers."""

CHAT: Final = ListOf(Struct({"role": STRING, "content": STRING}))
COLUMNS: Final[Mapping[str, Mapping[str, Type]]] = {
    "messages": {"messages": CHAT},
    "preference": {"prompt": CHAT, "chosen": CHAT, "rejected": CHAT},
    "unpaired": {"prompt": CHAT, "completion": CHAT, "label": Scalar("boolean")},
    "prompts": {"prompt": CHAT, "answer": STRING},
}
"""Columns of each configuration of the built-in dataset, with their types."""

ROWS: Final[Mapping[str, int]] = {"train": 3_000, "test": 200}
"""Rows that each of its splits has at least: how many there are, the release of Python decides."""

CONFIG_FOR = {
    Method.SFT: "messages",
    Method.DPO: "preference",
    Method.REWARD: "preference",
    Method.KTO: "unpaired",
    Method.GRPO: "prompts",
    Method.RLOO: "prompts",
}
"""Configuration that a method gets where the job names none."""


def builtin_columns(path: str, config: str | None, method: Method) -> Mapping[str, Type]:
    """Return the columns of a built-in dataset with their types; none if there is no such dataset or configuration.

    >>> [*builtin_columns("builtin:stdlib-docstrings", None, Method.DPO)]
    ['prompt', 'chosen', 'rejected']
    """
    return COLUMNS.get(config or CONFIG_FOR[method], {}) if path in DATASETS else {}


def load_source(module: str) -> str:
    """Return the text of a module of this package, such as `tiny_chat.py`."""
    return Path(__file__).with_name(module).read_text(encoding="utf-8")
