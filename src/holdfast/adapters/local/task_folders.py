"""Folders of benchmark tasks."""

from pathlib import Path


def is_task_folder(path: Path) -> bool:
    """True if a path is that of a folder with files of lm-eval's tasks: a plain name means it, and not a task of lm-eval's registry."""
    return path.is_dir() and any(path.rglob("*.yaml"))
