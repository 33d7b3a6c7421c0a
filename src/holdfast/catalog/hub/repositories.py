"""Names of repositories on the Hub, and what tells them from paths on a machine."""

import re
from pathlib import PurePosixPath
from typing import Final

# What huggingface_hub 2.4 takes: an optional owner and a name, of 96 characters at most each.
REPOSITORY: Final = re.compile(r"(?:\b[\w.-]{1,96}\b/)?\b[\w.-]{1,96}\b", re.ASCII)
REPOSITORY_PARTS: Final = 2
ROOTS: Final = ("/", "~")
PATHS: Final = (".", "/", "~")
"""Beginnings that no name of a repository has."""
FILE_ENDING: Final = re.compile(
    r"\.(?:jsonl?|ndjson|csv|tsv|txt|md|parquet|arrow|xml|ya?ml|toml|py|ipynb|sh|jinja2?|j2|gz|bz2|xz|zst|zip|tar|7z|pkl|npy|npz|h5"
    r"|hdf5|bin|safetensors|gguf|ggml|pth?|ckpt|onnx|model|db|sqlite|log|wav|mp3|png|jpe?g)$",
    re.IGNORECASE,
)
"""Endings of files, which names of repositories do not have: theirs are `-GGUF`, not `.gguf`."""
FOLDERS: Final = frozenset(
    {"adapter", "adapters", "artifacts", "cache", "checkpoint", "checkpoints", "ckpt", "ckpts", "content", "corpus"}
    | {"data", "dataset", "datasets", "exp", "experiments", "exports", "finetuned", "home", "input", "inputs", "local"}
    | {
        "logs",
        "merged",
        "mnt",
        "model",
        "models",
        "my_data",
        "my_dataset",
        "my_model",
        "opt",
        "out",
        "output",
        "outputs",
    }
    | {"pretrained", "processed", "raw", "results", "root", "run", "runs", "save", "saved", "saves", "scratch", "src"}
    | {"storage", "temp", "tmp", "trained", "trained_models", "weights", "work", "workspace"}
)
"""What stands before the slash of a path more often than of a repository."""


def may_be_repository(name: object) -> bool:
    """True if a value can be the name of a repository, and is not the path of something on a machine.

    >>> [may_be_repository(name) for name in ("trl-lib/Capybara", "gpt2", "./x", "data/train", "rows.jsonl", "a/b/c", "org/a--b")]
    [True, True, False, False, False, False, False]
    """
    if not isinstance(name, str) or not is_repository(name) or FILE_ENDING.search(name):
        return False
    owner, slash, _ = name.partition("/")
    return not slash or owner.lower() not in FOLDERS


def is_repository(name: str) -> bool:
    """True if the Hub takes a name for a repository."""
    return bool(REPOSITORY.fullmatch(name)) and "--" not in name and ".." not in name and not name.endswith(".git")


def is_rooted(name: str) -> bool:
    """True if a path is the same wherever a program is started.

    >>> [is_rooted(name) for name in ("/models/x", "~/models/x", "./x")]
    [True, True, False]
    """
    return name.startswith(ROOTS)


def is_path(name: str) -> bool:
    """True if a name can only be that of something on a machine.

    >>> [is_path(name) for name in ("./gpt2", "~/models/x", "a/b/c", "acme/chat", "gpt2")]
    [True, True, True, False, False]
    """
    return name.startswith(PATHS) or len(PurePosixPath(name).parts) > REPOSITORY_PARTS
