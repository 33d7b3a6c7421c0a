"""Attributes that a program reads of settings of its own: ARG125 reports exactly those whose program raises AttributeError."""

import sys

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.rules.arg125_undefined_attribute import check

PARSER = """
import argparse
import copy
import json

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-5)
group = parser.add_argument_group("data")
group.add_argument("--data-path", "-d", default="rows")
group.add_argument("--out", dest="output_dir", default="out")
parser.set_defaults(seed=3)
"""
PARSED = PARSER + "args = parser.parse_args([])\n"
CLASSES = """
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass
class Base:
    path: str = "rows"

    def pick(self):
        return self.rows


@dataclass
class Settings(Base):
    rows: int = 3
    names: list = field(default_factory=list)
    kind: ClassVar[str] = "plain"

    def __post_init__(self):
        self.made = self.rows + 1

    @property
    def twice(self):
        return 2 * self.rows


def passed_on(given, name=None):
    return given.num_rows if name else given.rows


settings = Settings(rows=4)
"""
RAISES = {
    "renamed by dest": PARSED + "args.out",
    "an option that there is not": PARSED + "args.max_length",
    "an option that is added later": PARSER
    + "early = parser.parse_args([])\nparser.add_argument('--late')\nearly.late",
    "of what parse_known_args gives": PARSER + "args, rest = parser.parse_known_args([])\nargs.max_length",
    "in a function": PARSED + "def f(given):\n    return given.max_length\nf(args)",
    "by a function that parses": PARSER + "def f():\n    return parser.parse_args([])\nf().max_length",
    "by getattr": PARSED + "getattr(args, 'max_length')",
    "behind a view": PARSED + "json.dumps(vars(args))\nargs.max_length",
    "a field": CLASSES + "settings.num_rows",
    "in a helper": CLASSES + "passed_on(settings, 'x')",
    "of the base": CLASSES + "Base().rows",
    "in a method of the base": CLASSES + "Base().pick()",
}
QUIET = {
    "all there are": PARSED + "args.lr, args.data_path, args.output_dir, args.seed",
    "given by the program": PARSED + "args.extra = 1\nargs.extra",
    "given by its dict": PARSED + "vars(args)['extra'] = 1\nargs.extra",
    "given by a view": PARSED + "view = vars(args)\nview.update({'extra': 1})\nargs.extra",
    "given by __dict__": PARSED + "args.__dict__.update({'extra': 1})\nargs.extra",
    "given by setattr": PARSED + "for name in ['extra']:\n    setattr(args, name, 1)\nargs.extra",
    "looked for": PARSED + "if hasattr(args, 'extra'):\n    args.extra",
    "looked for in the view": PARSED + "args.extra if 'extra' in vars(args) else None",
    "with a default": PARSED + "getattr(args, 'extra', 1)",
    "tried": PARSED + "try:\n    args.extra\nexcept AttributeError:\n    pass",
    "of a namespace that is given": PARSER + "args = parser.parse_args([], argparse.Namespace(extra=1))\nargs.extra",
    "of a subcommand": PARSER
    + "sub = parser.add_subparsers(dest='command')\nsub.add_parser('a').add_argument('--extra')\n"
    + "args = parser.parse_args(['a'])\nargs.extra",
    "of a parent": "import argparse\nbase = argparse.ArgumentParser(add_help=False)\nbase.add_argument('--extra')\n"
    "args = argparse.ArgumentParser(parents=[base]).parse_args([])\nargs.extra",
    "added in a loop": PARSER
    + "for name in ('extra', 'more'):\n    parser.add_argument(f'--{name}')\n"
    + "args = parser.parse_args([])\nargs.extra",
    "added by a function": PARSER
    + "def add(given):\n    given.add_argument('--extra')\nadd(parser)\n"
    + "args = parser.parse_args([])\nargs.extra",
    "an action of its own": PARSER
    + "class Set(argparse.Action):\n    def __call__(self, parser, namespace, values, option=None):\n"
    + "        setattr(namespace, 'extra', values)\nparser.add_argument('--set', action=Set)\n"
    + "args = parser.parse_args(['--set', '1'])\nargs.extra",
    "a copy": PARSED + "other = copy.copy(args)\nother.extra = 1\nother.extra",
    "fields, also inherited": CLASSES
    + "settings.path, settings.rows, settings.names, settings.kind, settings.made, settings.twice",
    "a method": CLASSES + "settings.pick()",
    "in a branch that is not taken": CLASSES + "passed_on(settings)",
    "made up": CLASSES + "class Any(Settings):\n    def __getattr__(self, name):\n        return 1\nAny().extra",
    "of a base that is not seen": CLASSES
    + "from types import SimpleNamespace\n@dataclass\nclass Open(SimpleNamespace):\n    a: int = 1\n"
    + "    def __post_init__(self):\n        self.__dict__['extra'] = 1\nOpen().extra",
    "given to the class": CLASSES + "Settings.extra = 1\nsettings.extra",
}


@pytest.mark.parametrize(
    ("source", "raises"),
    [*((each, True) for each in RAISES.values()), *((each, False) for each in QUIET.values())],
    ids=[*RAISES, *QUIET],
)
def test_what_is_reported_raises(source: str, raises: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends with AttributeError if, and only if, the rule reports its attribute."""
    found = [each for document in read_script(source, "train.py") for each in check(document)]
    module = type(sys)("own_attributes")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    try:
        exec(compile(source, "train.py", "exec"), module.__dict__)
    except AttributeError:
        assert raises
    else:
        assert not raises
    assert bool(found) is raises
