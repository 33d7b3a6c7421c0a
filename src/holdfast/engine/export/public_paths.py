"""Paths as others may read them: without the folders of this machine."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

PART: Final = r"/[^\s'\"`,;:()\[\]{}<>/]+"
INNER: Final = re.compile(rf"(?:(?<![\w./~])|(?<=://))(?!/(?:usr|bin|etc|dev|proc|sys)/)(?:~|{PART})(?:{PART})+")
"""An absolute path in a text. What follows a host's name is none, and the folders of a system tell nothing of this machine."""
WITH_BLANKS: Final = re.compile(r"~?(?:/[^/.:,;]+)+/[^\s/]+\.\w+")
"""A text that is the path of a file in a folder whose name has blanks; a sentence that begins with a file's name has a dot or a blank later."""
FEWEST_PARTS: Final = 3
"""Parts of a text that is taken for an absolute path, its root among them: `/think` may be a word."""


@dataclass(frozen=True, slots=True)
class PublicPaths:
    """Makes absolute paths relative to a job's folder; of those outside of it, the names remain.

    Attributes:
        folder: The folder of the job file; empty if it is not known.
    """

    folder: str

    def render(self, text: str) -> str:
        """Return a text without absolute paths: one that is a path, or that of a file's function, or one with paths in it.

        >>> paths = PublicPaths("/home/ann/job")
        >>> paths.render("/home/ann/job/data/a.jsonl"), paths.render("/srv/metrics.py:score"), paths.render("see /home/ann/b.txt")
        ('data/a.jsonl', 'metrics.py:score', 'see b.txt')
        """
        if _is_path(text):
            return self._shown(text)
        return INNER.sub(lambda match: self._shown(match[0]), text)

    def render_all(self, value: Any) -> Any:
        """Return a value whose texts have no absolute paths."""
        if isinstance(value, Mapping):
            return {self.render_all(name): self.render_all(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.render_all(part) for part in value]
        return self.render(value) if isinstance(value, str) else value

    def _shown(self, path: str) -> str:
        found = PurePath(posixpath.normpath(path))
        inside = bool(self.folder) and found.is_relative_to(self.folder)
        return str(found.relative_to(self.folder)) if inside else found.name


def _is_path(text: str) -> bool:
    is_absolute = text.startswith(("/", "~/")) and len(PurePath(text).parts) >= FEWEST_PARTS
    return is_absolute and (len(text.split()) == 1 or bool(WITH_BLANKS.fullmatch(text)))
