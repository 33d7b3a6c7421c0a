"""Whatever a file holds, reading it ends in Documents or in one UsageError."""

import ast
import warnings
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers import script
from holdfast.adapters.readers.script import read_script
from holdfast.core.errors import Spot, UsageError


def objection(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read_script(text, "train.py")
    return caught.value


@pytest.mark.parametrize("name", ["function", "operands", "named", "self", "reading", "site", "values"])
def test_arguments_have_any_name(name: str) -> None:
    """Keywords of a script's calls are none of ours: `"{function}".format(function=1)` is read."""
    read_script(
        f'text = "{{{name}}}".format({name}="a")\nother = dict({name}=1)\nthird = "a".split({name}=2)\n', "train.py"
    )


@pytest.mark.parametrize(
    ("text", "what", "spot"),
    [
        ("x = (\n", "was never closed", Spot("train.py", 1, 5)),
        ("a = 1\nif a:\nb = 2\n", "expected an indented block", Spot("train.py", 3, 1)),
        ('é = "ü" !\n', "invalid syntax", Spot("train.py", 1, 9)),
        ("print 'x'\n", "this is Python 2", Spot("train.py", 1, 1)),
        ("try:\n    f()\nexcept ValueError, e:\n    pass\n", "this is Python 2", Spot("train.py", 3, 8)),
        ("if a:\n\tb = 1\n        c = 2\n", "inconsistent use of tabs", Spot("train.py", 3, 1)),
        ("x = 1\n\0", "null bytes", Spot("train.py", 2)),
        ("x = '\ud800'", "not text", Spot("train.py")),
        ("(" * 500 + ")" * 500, "", Spot("train.py")),
    ],
)
def test_what_is_no_python_is_said_once_with_its_place(text: str, what: str, spot: Spot) -> None:
    error = objection(text)
    assert what in error.what
    assert error.spot.path == "train.py"
    if spot.column:
        assert (error.spot.line, error.spot.column) == (spot.line, spot.column)


def test_a_huge_file_is_refused_before_it_is_parsed() -> None:
    assert "too long" in objection("x = 1\n" * 2_000_000).what


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n# here",
        "\ufefffrom trl import SFTConfig\n",
        "\ufeff\n\n",
        "# -*- coding: latin-1 -*-\nx = 'é'\n",
        "\fimport trl\n\f\n",
        "import trl\r\nif 1:\r\n    x = 1\r\n",
        "import trl\rx = 1\r",
        "x = '\\d'\n",
        "await f()\nreturn 1\nyield 2\nbreak\n",
        "x = " + "+".join("1" for _ in range(700)),
        "x = " + "a." * 700 + "b",
        "x = " + "not " * 80 + "y",
        "def f():\n    f()\nf()\n",
        "class A(A): pass\nA().x\n",
        "class A: pass\nclass B(A): pass\nA = B\nclass C(A, A): pass\nC().f()\n",
        "a = []\na.append(a)\na.append(a)\nprint(a)\n",
        "d = {}\nd['d'] = d\nimport trl\ntrl.SFTConfig(x=d, **d)\n",
        "import trl\nx = f'{1:>999999999}'\ny = '%999999999d' % 1\nz = '{:>999999999}'.format(1)\nw = 'x' * 10**10\n",
        "import os\nos.environ[f()] = 1\nos.environ.update(**x)\n",
        "x: int\ny: int = 1\nglobal z\nz = 1\ndel x, y[0], z.a\n",
        "*a, b = 1, 2\n(c, [d]) = e\nfor f.g, h[0] in i: pass\n",
        "from . import *\nfrom .. import a\nfrom ...b import c\nimport a.b.c as d\n",
        "lambda x=1, *a, y=2, **k: (yield x)\n",
        "def f(a, b=1, /, c=2, *d, e, f=3, **g): pass\nf(*x, **y)\nf(1)\nf()\n",
        "match x:\n    case {'a': [1, *_], **rest} if rest: pass\n    case A(b=c) | A(b=c): pass\n",
        "try: pass\nexcept* ValueError as e: raise\nelse: pass\nfinally: pass\n",
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int = dataclasses.field(default=1)\nA(1, 2, 3, x=4)\n",
        "super().f()\nclass A:\n    super().g()\n    def f(): super().f(super)\nA.f()\n",
        "import functools\nfunctools.partial()\nfunctools.partial(*a)\nfunctools.partial(functools.partial)(1)()()\n",
        "getattr()\nsetattr(1)\nhasattr()\ndict(1)\nvars()\ntype()\n__import__()\nprint(*x)\nint(**y)\nround(1, 2, 3)\n",
        "from transformers import HfArgumentParser\nHfArgumentParser()\na, b = HfArgumentParser(x).parse_args_into_dataclasses()\n",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument()\np.add_argument(1, type=2)\np.parse_args([1])\n",
    ],
)
def test_what_is_odd_but_python_is_read(text: str) -> None:
    assert read_script(text, "train.py", argv=["--x", "1"])


def test_a_byte_order_mark_moves_nothing() -> None:
    job = read_script("\ufefffrom trl import SFTConfig\nSFTConfig()\n", "train.py")[0]
    assert (job.imports[0].place.line, job.imports[0].place.column) == (1, 18)


def test_a_warning_of_the_parser_is_not_passed_on() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_script("x = '\\d'\n", "train.py")


def test_functions_that_call_one_another_many_times_are_read_in_time() -> None:
    functions = "".join(f"def f{n}():\n" + f"    f{n + 1}()\n" * 6 for n in range(30))
    assert read_script(f"{functions}f0()\n", "train.py")


def test_loops_within_loops_are_read_in_time() -> None:
    loops = "".join(f"{'  ' * depth}for i in x:\n" for depth in range(18))
    assert read_script(f"{loops}{'  ' * 18}i = f(i)\n", "train.py")


@given(st.text())
@settings(max_examples=100)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_script(text, "train.py", argv=[text])
    except UsageError as error:
        assert error.what  # noqa: PT017 - either way is right


SOURCES = [path.read_text(encoding="utf-8") for path in sorted(Path(script.__file__).parent.glob("*.py"))]
TRAINING = """
import os, sys, argparse, functools, dataclasses
from trl import SFTConfig, SFTTrainer
from transformers import HfArgumentParser
@dataclasses.dataclass
class My(SFTConfig):
    extra: int = 1
    def __post_init__(self):
        super().__post_init__()
def make(lr, *rest, bs=4, **kw):
    d = {"lr": lr, **kw}
    d["x"], y = 1, d.pop("lr")
    d.update(a=1)
    if lr > 1:
        return My(output_dir=f"{bs:>3}", **d)
    try:
        a = SFTConfig(**d)
    except (TypeError, ValueError) as e:
        a = None
    finally:
        print(a)
    with open("x") as f:
        a.seed = 1
    for i, j in enumerate([1, 2]):
        d[i] = j
    return a
parser = HfArgumentParser((My,))
args, = parser.parse_args_into_dataclasses()
os.environ["A"] = "1"
t = SFTTrainer("m", args=make(1, *[2], **{"b": 2}), callbacks=[functools.partial(make, 1)])
t.train()
assert t.state["x"][0] is not None and not sys.argv[1]
"""


@given(st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_any_program_put_together_from_pieces_is_read(random: Random) -> None:
    tree = ast.parse(random.choice([TRAINING, *SOURCES[:3]]))
    expressions = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    for node in ast.walk(tree):
        for name, child in ast.iter_fields(node):
            if (
                isinstance(child, ast.expr)
                and isinstance(getattr(child, "ctx", ast.Load()), ast.Load)
                and random.random() < 0.1
            ):
                setattr(node, name, random.choice(expressions))
            if isinstance(child, list) and child and isinstance(child[0], ast.stmt):
                random.shuffle(child)
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
        ast.parse(text)
    except (RecursionError, SyntaxError, ValueError, AttributeError, TypeError):
        return  # a tree that is no program
    assert read_script(text, "train.py", argv=["--extra", "2"])
