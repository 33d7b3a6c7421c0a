"""Command lines: launchers, a script's arguments, and the commands of libraries (`trl sft …`)."""

from holdfast.adapters.readers.command_line.commands import (
    CommandLine,
    read_commands,
    read_program_lines,
    read_words,
)
from holdfast.adapters.readers.command_line.launched import with_launch
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.command_line.words import read_exports

__all__ = [
    "CommandLine",
    "command_document",
    "read_commands",
    "read_exports",
    "read_program_lines",
    "read_words",
    "with_launch",
]
