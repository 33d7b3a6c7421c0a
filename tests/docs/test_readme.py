"""README's examples print what README shows, and what it names is there."""

import re

from holdfast.cli.main import cli
from tools.console_examples import BLOCK, FOLDER, README, render_document

TEXT = README.read_text(encoding="utf-8")


def test_examples_print_what_is_shown() -> None:
    """Commands that only read are run in the folder that the text names."""
    assert render_document(TEXT) == TEXT, "make docs"


def test_the_job_is_the_one_that_is_shown() -> None:
    """Who copies it from the page has the file that the next command takes."""
    assert f"```yaml\n{(FOLDER / 'job.yaml').read_text(encoding='utf-8')}```" in TEXT


def test_files_and_options_are_there() -> None:
    """Every file that a command names lies in the folder, and every option is the command's."""
    lines = re.findall(r"^\$ holdfast (.+)$", "\n".join(BLOCK.findall(TEXT)), re.MULTILINE)
    assert len(lines) >= 6
    for line in lines:
        for words in (each.partition(" -- ")[0].split() for each in line.split(" && holdfast ")):
            command = cli.get_command(None, words[0])  # type: ignore[arg-type]  # no context is needed
            assert command is not None, line
            options = {name for param in command.params for name in param.opts}
            assert {word for word in words if word.startswith("--")} <= options, line
            assert all((FOLDER / word).exists() for word in words if "." in word), line
