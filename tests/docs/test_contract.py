"""The contract's page is what the types say, and has a section for each command."""

from holdfast.app import VERBS
from tools.contract_page import PAGE, RESULTS, render_page

TEXTS = {"render"}
"""Commands whose answer is text."""


def test_page_is_what_the_types_say() -> None:
    """`make docs` writes it."""
    text = PAGE.read_text(encoding="utf-8")

    assert render_page(text) == text


def test_every_command_has_a_result() -> None:
    documented = {verb.split()[0] for verbs in RESULTS for verb in verbs.split(", ")}

    assert documented == VERBS.keys() - TEXTS


def test_every_field_says_what_it_means() -> None:
    """No row of a table ends in an empty cell."""
    assert [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.endswith("|  |")] == []
