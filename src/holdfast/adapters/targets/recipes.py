"""Commands of other trainers, such as `axolotl train recipe.yaml`: the recipe that they train by.

Covered: axolotl and LLaMA-Factory, by their commands and modules, with the settings that the command gives instead of the recipe.
Not covered: recipes at an address. Source: axolotl 0.18, `cli/main.py`; LLaMA-Factory at commit ff6d4d12e, `launcher.py` and `hparams/parser.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from holdfast.adapters.readers.command_line.programs import StartedCommand
from holdfast.adapters.readers.command_line.words import Word
from holdfast.adapters.readers.foreign import RecipeReader
from holdfast.adapters.readers.foreign.axolotl import read_axolotl
from holdfast.adapters.readers.foreign.llama_factory import read_llama_factory
from holdfast.adapters.readers.settings import ENDINGS
from holdfast.adapters.targets import read_text
from holdfast.adapters.targets.jobs import read_recipe_text
from holdfast.core.job.document import Document, Unknown

TRAIN: Final = "train"
COMMANDS: Final[Mapping[str, RecipeReader]] = {
    "axolotl": read_axolotl,
    "llamafactory-cli": read_llama_factory,
    "lmf": read_llama_factory,
}
MODULES: Final[Mapping[str, RecipeReader]] = {"axolotl.cli.train": read_axolotl}
GIVEN: Final = Unknown("the command gives another value")
PERHAPS_GIVEN: Final = Unknown("a variable of the shell may give another value")


def recipe_name(program: StartedCommand) -> Word | None:
    """Return the word of a command that names its recipe; None if it trains by none."""
    words = _after_command(program)
    return words[0] if words and words[0].known and words[0].text.endswith(ENDINGS) else None


def read_recipe_documents(program: StartedCommand, folders: Sequence[Path]) -> Iterator[Document]:
    """Yield the Document of the recipe that a command trains by; nothing if it is not found.

    Raises:
        UsageError: It cannot be read.
        ExceptionGroup: It is not valid YAML.
    """
    name, reader = recipe_name(program), _reader_of(program)
    path = next((each for folder in folders if name and (each := folder / name.text).is_file()), None)
    if path is None or reader is None:
        return
    document = read_recipe_text(read_text(str(path)), str(path))
    words = _after_command(program)[1:]
    given = dict.fromkeys(filter(None, map(_setting, words)), GIVEN)
    if not all(word.known for word in words):
        given |= dict.fromkeys(document.values, PERHAPS_GIVEN)
    yield reader(replace(document, values={**document.values, **given}))


def _reader_of(program: StartedCommand) -> RecipeReader | None:
    return MODULES.get(program.name.text) if program.kind == "module" else COMMANDS.get(program.name.text)


def _after_command(program: StartedCommand) -> Sequence[Word]:
    """Return the words after the command that trains; none if the program is another."""
    if _reader_of(program) is None:
        return ()
    if program.kind == "module":
        return program.arguments
    words = program.arguments
    return words[1:] if words and words[0].text == TRAIN else ()


def _setting(word: Word) -> str:
    """Return the setting that a word gives: `--learning-rate`, `learning_rate=1e-5`; empty if it gives none."""
    name = word.text.partition("=")[0] if word.text.startswith("--") or "=" in word.text else ""
    return name.removeprefix("--").replace("-", "_")
