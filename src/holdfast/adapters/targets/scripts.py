"""Training scripts: any user's, read by `ast`, with the modules that lie beside them."""

from collections.abc import Sequence
from pathlib import Path

from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.script.edits import place_edits
from holdfast.adapters.readers.settings import ENDINGS, SettingsFiles, read_settings
from holdfast.adapters.targets import Target
from holdfast.core.document import Document


def read(text: str, path: str, _: tuple[str, ...], arguments: tuple[str, ...]) -> Target:
    """Read a script.

    Raises:
        UsageError: It is no Python.
    """
    beside = Beside(Path(path).parent)
    files = SettingsBeside(Path(path).parent)
    documents = read_script(text, path, beside=beside, argv=arguments or None, files=files)
    return Target(documents=documents, place_edits=place_edits, modules=frozenset(beside.asked))


def read_documents(
    text: str, path: str, arguments: Sequence[str] | None, files: SettingsFiles
) -> tuple[Document, ...]:
    """Return what a script says of each job that it trains.

    Args:
        text: The script.
        path: Its name.
        arguments: Those of the command line that starts it; None where any may be given.
        files: Gives the settings of a file that they name.

    Raises:
        UsageError: It is no Python.
    """
    return read_script(text, path, beside=Beside(Path(path).parent), argv=arguments, files=files)


class SettingsBeside:
    """Gives the settings of files by their names, from here or from a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str) -> Document | None:
        """Return what a file holds, or None where it is not there, or is none of settings."""
        if not name.endswith(ENDINGS):
            return None
        for path in (Path(name), self._folder / name):
            try:
                return read_settings(path.read_text(encoding="utf-8"), str(path))
            except (OSError, ValueError, ExceptionGroup):
                continue
        return None


class Beside:
    """Gives the texts of modules that lie in a folder.

    Attributes:
        asked: Names of those that were asked for, whether they are there or not.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.asked: set[str] = set()

    def __call__(self, module: str) -> str | None:
        """Return the text of a module, or None where it does not lie there."""
        self.asked.add(module)
        return read_module(self._folder, module)


def read_module(folder: Path, module: str) -> str | None:
    """Return the text of a module that lies in a folder, or None where it does not, or is no text."""
    stem = folder.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return None
