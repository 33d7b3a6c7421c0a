"""What released libraries say: read from their modules, kept through their releases, and found again."""

import sys
from itertools import permutations
from pathlib import Path

import pytest

from holdfast.adapters.environment.wheels import read_installed
from holdfast.catalog.messages import BUILTIN, load_messages, packages
from holdfast.catalog.messages.templates import HOLE, MessageTemplate, fits
from holdfast.history.messages.history import MessageHistory, parse_messages
from holdfast.history.messages.reading import read_messages

SITE = next(Path(path) for path in sys.path if path.endswith("site-packages"))
MODULE = '''
import logging, textwrap, warnings
from .names import KINDS, HINT
logger = logging.getLogger(__name__)
LIMIT = "the limit of this library"

class Refusal(ValueError):
    def __init__(self, name):
        super().__init__(f"The name {name} was refused by us")

def check(value, other, kind="sum"):
    """Raise ValueError("words of a docstring are no message")."""
    if value: raise ValueError(f"Expected a small value, got {value!r}. "
                               "Please choose another one.")
    if other: raise TypeError("Cannot add %s to %.2f %% of these" % (value, other))
    raise KeyError("The key {} is not among {names}, sorry".format(value, names=other))

class Trainer:
    def train(self, kind):
        message = "Unknown kind of task" + f": {kind}"
        if kind:
            message += " and more"
            raise RuntimeError(message)
        assert kind in KINDS, f"One of {LIMIT} is needed"
        logger.warning("Step %d took longer than %s", 1, kind)
        warnings.warn("This way of training is old", FutureWarning)
        def inner():
            raise OSError(textwrap.dedent("""
                There is no
                such file
            """))
        raise EnvironmentError(HINT)
        raise ValueError("too few")
        raise ValueError(kind)
'''
NAMES = 'KINDS = ()\nHINT = "Look for it somewhere else"\n'
SAID = {
    ("Refusal", "The name ¤ was refused by us", "Refusal.__init__"),
    ("ValueError", "Expected a small value, got ¤. Please choose another one.", "check"),
    ("TypeError", "Cannot add ¤ to ¤ % of these", "check"),
    ("KeyError", "The key ¤ is not among ¤, sorry", "check"),
    ("RuntimeError", "Unknown kind of task: ¤", "Trainer.train"),
    ("AssertionError", "One of the limit of this library is needed", "Trainer.train"),
    ("warning", "Step ¤ took longer than ¤", "Trainer.train"),
    ("FutureWarning", "This way of training is old", "Trainer.train"),
    ("OSError", "There is no such file", "Trainer.train.inner"),
    ("OSError", "Look for it somewhere else", "Trainer.train"),
}


def test_every_way_of_saying_something_is_read() -> None:
    """With holes for what is computed; an exception's older name by the one that tracebacks tell; nothing of under three words."""
    sources = {"trl/__init__.py": "", "trl/names.py": NAMES, "trl/tasks.py": MODULE}
    found = read_messages("trl", {name: text.encode() for name, text in sources.items()})

    assert found == {MessageTemplate(kind, template, f"tasks:{where}") for kind, template, where in SAID}


def test_a_name_that_may_be_something_else_is_a_hole_too() -> None:
    """A parameter that gets a text only where it is missing; a text that is made of itself."""
    source = """
def load(path, device):
    if path is None:
        path = "the current folder"
    if device:
        device = f"cuda:{device}"
    raise ValueError(f"Nothing was found in {path} for {device} at all")
"""
    found = read_messages("trl", {"trl/__init__.py": source.encode()})

    assert {each.template for each in found} == {
        f"Nothing was found in {path} for {device} at all"
        for path in ("the current folder", HOLE)
        for device in (f"cuda:{HOLE}", HOLE)
    }


def test_releases_give_the_same_history_in_whatever_order_they_are_read() -> None:
    """And the history is the same after it was written and read."""
    old, new = (
        MessageTemplate("ValueError", "This was said before ¤", "a:f"),
        MessageTemplate("ValueError", "This is said since then", "a:f"),
    )
    both = {"0.9.0": {old}, "0.10.0": {old, new}, "1.0.0": {new}}
    texts = set[str]()
    for order in permutations(both):
        history = MessageHistory("trl", "2026-01-01")
        for version in order:
            history.add(version, both[version])
        texts.add(history.text())

    assert len(texts) == 1
    (text,) = texts
    assert parse_messages(text).text() == text
    assert text.splitlines()[0].endswith('"versions":["0.9.0","0.10.0","1.0.0"]}')
    assert "a:f=0-1" in text
    assert "a:f=1-" in text


@pytest.mark.parametrize("package", ["trl", "peft"])
def test_what_the_installed_release_says_is_what_is_known_of_it(package: str) -> None:
    """Of all that its modules raise, and nothing else."""
    installed = read_installed(SITE, package)
    known = load_messages(package)
    newest = known.versions.index(installed.version)
    told = {
        (said.kind, said.template, place.module, place.function)
        for said in known.all()
        for place in said.places
        if place.releases >> newest & 1
    }
    found = {
        (each.kind, each.template, f"{package}.{module}" if module else package, function)
        for each in read_messages(package, installed.modules)
        for module, _, function in [each.place.partition(":")]
    }

    assert told == found


@pytest.mark.parametrize("package", packages())
def test_what_a_message_makes_is_found_as_that_message(package: str) -> None:
    """By its kind, at the beginning of an exception; or as one that says the same and more."""
    known = load_messages(package)
    for said in list(known.all())[::7]:
        text = said.template.replace(HOLE, "eight")
        found = known.find(text, said.kind)
        assert any(each.template == said.template for each in found), said
        assert found[0].weight >= said.weight


def test_a_template_fits_only_what_it_makes() -> None:
    """More may follow; another beginning may not."""
    assert fits("Got ¤ of ¤ rows.", "Got 3 of 4 rows. Look")
    assert not fits("Got ¤ of ¤ rows.", "Got 3 of 4 columns.")
    assert not fits("Got ¤ of ¤ rows.", "We Got 3 of 4 rows.")
    assert fits("Got ¤ of ¤ rows.", "We Got 3 of 4 rows.", anywhere=True)


def test_the_messages_stay_small() -> None:
    """They travel with every installation."""
    assert sum(path.stat().st_size for path in BUILTIN.glob("*.messages")) < 1_200_000
