"""Which methods of a library's trainer a program's own trainers have in its place."""

from textwrap import indent

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.core.job.calls import OverriddenMethod

HEAD = "from trl import SFTTrainer\n\n\n"
NARROW = "def log(self, logs): ...\n"


def overrides(program: str) -> tuple[OverriddenMethod, ...]:
    """What a program overrides."""
    (document,) = read_script(HEAD + program, "train.py")
    return document.overrides


def test_override_names_what_it_takes() -> None:
    """A rule can tell how the method may be called."""
    method = "def log(self, logs, *rest, start=None, **more): ...\n"
    (log,) = overrides(f"class T(SFTTrainer):\n{indent(method, '    ')}\n\nT(model)\n")
    assert (log.path, log.label, log.positional, log.variadic, log.open) == (
        "trl.SFTTrainer.log",
        "T.log",
        ("logs",),
        True,
        True,
    )
    assert "start" in log.parameters
    assert (log.place.line, log.place.column) == (5, 9)


@pytest.mark.parametrize(
    "program",
    [
        f"class T(SFTTrainer):\n    {NARROW}",
        f"class A(SFTTrainer):\n    {NARROW}\nclass B(A):\n    def log(self, *args): ...\n\nB(model)",
        f"class T(SFTTrainer):\n    @patch\n    {NARROW}\nT(model)",
        f"class T(SFTTrainer):\n    {NARROW}\nT.log = other\nT(model)",
        f"class Mixin:\n    {NARROW}\nclass T(SFTTrainer, Mixin): ...\n\nT(model)",
        f"class T:\n    {NARROW}\nT(model)",
    ],
    ids=["never made", "overridden again", "decorated", "replaced", "behind the library's", "no trainer"],
)
def test_what_may_never_be_called_is_no_override(program: str) -> None:
    """A method that another stands before, or that may be called otherwise, is left alone."""
    assert not any("logs" in each.positional for each in overrides(program))


def test_override_of_a_base_in_the_program_counts() -> None:
    """What a trainer inherits from another class of the program is its own too."""
    (log,) = overrides(f"class A(SFTTrainer):\n    {NARROW}\nclass B(A): ...\n\nB(model)")
    assert log.positional == ("logs",)
