"""Commands taken apart: what launches a program, what is installed before it, and the program."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from holdfast.adapters.readers.command_line.launchers import Launch, is_hidden, peel
from holdfast.adapters.readers.command_line.programs import StartedCommand, read_program
from holdfast.adapters.readers.command_line.severed import note_severed
from holdfast.adapters.readers.command_line.words import Word, split_commands
from holdfast.adapters.readers.command_line.working_folder import GOES, working_folder

INSTALLS: Final = re.compile(r"\b(?:install|add)\b")
"""A word of commands that install something."""
SHELLS: Final = frozenset({"bash", "sh", "zsh"})
TEXT_FOLLOWS: Final = frozenset({"-c", "-lc", "-ec", "-xc", "-exc", "-euxc", "-ic"})
"""A shell's options after which the commands stand, as one word."""
DEEPEST: Final = 3
"""Shells within shells."""
OWN_SHELL: Final = 0
"""The number of a shell that is started by its name; those in parentheses count from 1."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One command, read.

    Attributes:
        words: Its words.
        launch: What its launchers say.
        program: What it runs, if anything.
        before: The commands before it in the same text that install what it may run with, or go to another folder.
    """

    words: Sequence[Word]
    launch: Launch
    program: StartedCommand | None
    before: Sequence[Sequence[Word]] = field(default=())

    @property
    def folder(self) -> Path:
        """Where it runs: a path from where its shell was started, or an absolute one."""
        return working_folder(self.before, self.launch.words[0].subshells if self.launch.words else ())


def read_commands(text: str, path: str, environment: Mapping[str, str] | None = None) -> list[CommandLine]:
    """Return the commands of a shell's text that run a program of Python or of a library we know, or one that a variable names.

    Args:
        text: The shell's text.
        path: Where it stands.
        environment: The variables that it will be started with; None if it is not known.
    """
    lines = list(_programs(split_commands(text, path, environment), ()))
    for line in lines:
        note_severed(line.launch, line.words, text, path)
    return lines


def read_words(words: Sequence[Word]) -> CommandLine:
    """Return one command, taken apart."""
    launch = peel(words)
    return CommandLine(words, launch, read_program(launch.words))


def read_program_lines(words: Sequence[Word]) -> list[CommandLine]:
    """Return the commands that one command comes to: itself, or those that it hands to a shell."""
    return list(_programs([words], ()))


def _programs(
    commands: Iterator[Sequence[Word]] | Sequence[Sequence[Word]], before: Sequence[Sequence[Word]], depth: int = 0
) -> Iterator[CommandLine]:
    done = list(before)
    for words in commands:
        line = read_words(words)
        if line.program is None:
            continue
        if inner := _handed_to_shell(line.program):
            yield from _programs(_within(line, inner), done, depth + 1) if depth < DEEPEST else ()
        elif line.program.kind != "other" or is_hidden(line.program.name):
            yield replace(line, before=tuple(done))
        if _prepares(line.launch.words):
            done.append(line.launch.words)


def _prepares(words: Sequence[Word]) -> bool:
    """True if a command may matter to those after it: it installs something, or goes to another folder."""
    return any(word.text in GOES for word in words[:1]) or any(INSTALLS.search(word.text) for word in words)


def _handed_to_shell(program: StartedCommand) -> Word | None:
    """Return the word that holds the commands which a shell is given; None if it is none, or not known."""
    if program.name.text.rpartition("/")[2] not in SHELLS:
        return None
    found = (text for option, text in pairwise(program.arguments) if option.text in TEXT_FOLLOWS)
    word = next(found, None)
    return word if word and word.known else None


def _within(line: CommandLine, inner: Word) -> Iterator[Sequence[Word]]:
    """Yield the commands in a word, each after what launches the shell, all at the place of the word."""
    launchers = list(line.words[: len(line.words) - len(line.launch.words)])
    for words in split_commands(inner.text, inner.place.path):
        yield [*launchers, *(_in_own_shell(word, inner) for word in words)]


def _in_own_shell(word: Word, inner: Word) -> Word:
    return replace(word, place=inner.place, subshells=(*inner.subshells, OWN_SHELL, *word.subshells))
