"""Paths as others may read them: without the folders of this machine."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

FEWEST_PARTS: Final = 3
"""Parts of a text that is taken for an absolute path, its root among them: `/think` may be a word."""


@dataclass(frozen=True, slots=True)
class PublicPaths:
    """Makes absolute paths relative to a job's folder; of those outside of it, the names remain.

    Attributes:
        folder: The folder of the job file; empty if it is not known.
        home: The user's home.
    """

    folder: str
    home: str

    def render(self, text: str) -> str:
        """Return a text without absolute paths: one that is a path, or that of a file's function, or one with paths in it.

        >>> paths = PublicPaths("/home/ann/job", "/home/ann")
        >>> paths.render("/home/ann/job/data/a.jsonl"), paths.render("/srv/metrics.py:score"), paths.render("see /home/ann/b.txt")
        ('data/a.jsonl', 'metrics.py:score', 'see b.txt')
        """
        if _is_path(text):
            return self._shown(text)
        known = "|".join(re.escape(each) for each in (self.folder, self.home) if len(PurePath(each).parts) > 1)
        return re.sub(rf"(?<![\w.])(?:{known})/[^\s'\"`,;:)\]]*", self._shown_match, text) if known else text

    def render_all(self, value: Any) -> Any:
        """Return a value whose texts have no absolute paths."""
        if isinstance(value, Mapping):
            return {name: self.render_all(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.render_all(part) for part in value]
        return self.render(value) if isinstance(value, str) else value

    def _shown_match(self, match: re.Match[str]) -> str:
        return self._shown(match[0])

    def _shown(self, path: str) -> str:
        found = PurePath(posixpath.normpath(path))
        inside = bool(self.folder) and found.is_relative_to(self.folder)
        return str(found.relative_to(self.folder)) if inside else found.name


def _is_path(text: str) -> bool:
    parts = PurePath(text).parts if text.startswith(("/", "~/")) and "\n" not in text else ()
    return len(parts) >= FEWEST_PARTS and " " not in parts[1]
