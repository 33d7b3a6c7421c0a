"""Modules and settings files that lie beside a script, and scripts read together with them."""

from collections.abc import Iterable, Sequence
from os.path import expanduser
from pathlib import Path

from holdfast.adapters.foreign_files import read_foreign
from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.settings import ENDINGS, SettingsFiles, read_settings
from holdfast.adapters.targets import missing_file
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.places import Place


def read_documents(
    text: str,
    path: str,
    arguments: Sequence[str | Unknown] | None,
    files: SettingsFiles,
    places: Sequence[Place],
) -> tuple[Document, ...]:
    """Return the Documents of a script, one for each job that it trains.

    Args:
        text: The script.
        path: Its name.
        arguments: Those of the command line that starts it; None if any may be given.
        files: Gives the settings of a file that they name.
        places: Where each argument is written; empty if no file holds them.

    Raises:
        UsageError: It is not valid Python.
    """
    beside = SiblingModules(Path(path).parent)
    return read_script(text, path, beside=beside, argv=arguments, argv_places=places, files=files)


class SiblingSettings:
    """Gives the settings of files by their names, from the first of some folders that has one.

    Attributes:
        asked: Names of those that were requested, whether they are there or not.
        missing: Those of them that lie in none of the folders.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self.asked: set[str] = set()
        self.missing: set[str] = set()

    def __call__(self, name: str) -> Document | None:
        """Return the Document of a file; None if it is missing, or no settings file."""
        if not name.endswith(ENDINGS):
            return None
        self.asked.add(name)
        self.missing.add(name)
        for path in (folder / expanduser(name) for folder in self._folders):  # noqa: PTH111 # `~nobody` stays as it is
            try:
                text = read_foreign(path).decode()
                self.missing.discard(name)
                return read_settings(text, str(path))
            except FileNotFoundError:
                continue
            except (OSError, ValueError, ExceptionGroup):
                self.missing.discard(name)
        return None

    def require(self, words: Iterable[str], where: str) -> None:
        """Object to the first file that words of a command line name, that was requested, and that is not there.

        Raises:
            UsageError: There is one.
        """
        for word in words:
            if (name := self.named(word)) in self.missing:
                raise missing_file(name, where)

    @staticmethod
    def named(word: str) -> str:
        """Return the name of a file in a word: the word, or what stands after its `=`."""
        return word.rpartition("=")[2] if word.startswith("--") else word


class SiblingModules:
    """Gives the texts of modules that lie in a folder.

    Attributes:
        asked: Names of those that were requested, whether they are there or not.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.asked: set[str] = set()

    def __call__(self, module: str) -> str | None:
        """Return the text of a module, or None if it does not lie there."""
        self.asked.add(module)
        return read_module(self._folder, module)


def read_module(folder: Path, module: str) -> str | None:
    """Return the text of a module that lies in a folder, or None if it does not, or is no text."""
    stem = folder.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        try:
            return read_foreign(path).decode()
        except (OSError, UnicodeDecodeError):
            continue
    return None
