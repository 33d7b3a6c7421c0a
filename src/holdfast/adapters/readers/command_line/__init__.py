"""Command lines: launchers, a script's arguments, and the commands of libraries (`trl sft …`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.adapters.readers.command_line.launchers import Launch, peel
from holdfast.adapters.readers.command_line.programs import Flag, Program, read_flags, read_program
from holdfast.adapters.readers.command_line.words import Word, split_commands


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One command, read.

    Attributes:
        words: Its words.
        launch: What its launchers say.
        program: What it runs, if anything.
    """

    words: Sequence[Word]
    launch: Launch
    program: Program | None


def read_commands(text: str, path: str) -> list[CommandLine]:
    """Return the commands of a shell's text that run a program of Python or of a library we know."""
    lines = [read_words(words) for words in split_commands(text, path)]
    return [line for line in lines if line.program and line.program.kind != "other"]


def read_words(words: Sequence[Word]) -> CommandLine:
    """Return one command, taken apart."""
    launch = peel(words)
    return CommandLine(words, launch, read_program(launch.words))
