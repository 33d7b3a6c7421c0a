"""A constructor's checks, reduced to a program and run: an error is told where it is certain, and nowhere else."""

import ast
import textwrap
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from holdfast.core.job.calls import CallResult, LibraryName, LocalName
from holdfast.core.job.constructor_checks import Instance, KnownValue, MethodChecks, Notice, Outcome, construct
from holdfast.core.job.document import Unknown
from holdfast.history.checks.reducing import reduce_checks

HIDDEN = Unknown()
MODES = {"NO": "no", "STEPS": "steps"}


class Module:
    """The names of a module with one enum and one constant."""

    def rewritten(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Attribute(value=ast.Name(id="Mode"), attr=name):
                return ast.Constant(MODES[name])
            case ast.Name(id="LOSSES"):
                return ast.parse("['nll', 'dft']", mode="eval").body
            case _:
                return node

    def enum(self, node: ast.expr) -> dict[str, str] | None:
        return MODES if isinstance(node, ast.Name) and node.id == "Mode" else None


def reduced(source: str) -> str | None:
    """The program of the only class in a text: of its `__post_init__`, or else its `__init__`."""
    cls = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(cls, ast.ClassDef)
    methods = {each.name: each for each in cls.body if isinstance(each, ast.FunctionDef)}
    return reduce_checks(cls, methods.get("__post_init__") or methods["__init__"], Module())


def made(*sources: str, ancestors: Mapping[str, tuple[str, ...]] | None = None, **given: Any) -> Outcome:
    """What comes of the first class, whose bases the others are, with settings that the user wrote."""
    programs = []
    for index, source in enumerate(sources):
        text = reduced(source)
        method = "__post_init__" if "def __post_init__" in source else "__init__"
        programs += [MethodChecks(f"lib{index}.C", method, text)] if text else []
    known = {name: KnownValue(value, frozenset({f"train.{name}"})) for name, value in given.items()}
    bases = ancestors or {}
    versions = {"transformers": "5.2.0"}
    return construct("lib0.C", programs, known, versions=versions, ancestors=lambda path: bases.get(path, ()))


def raised(*sources: str, **given: Any) -> Notice | None:
    return made(*sources, **given).raised


CONFIG = """
@dataclass
class C(Base):
    def __post_init__(self):
        if self.fp16 and self.bf16:
            raise ValueError(f"not both of {self.fp16} and {self.bf16}")
"""


def test_raises_with_the_values_in_its_words() -> None:
    """A certain error is told with its exception, its words, what it reads, and whose it is."""
    notice = raised(CONFIG, fp16=True, bf16=True)

    assert notice == Notice(
        "ValueError", "not both of True and True", (frozenset({"train.fp16", "train.bf16"}),), "lib0.C"
    )


@pytest.mark.parametrize("bf16", [False, None, HIDDEN, CallResult("lib.f", "calls.0")])
def test_is_silent_where_a_condition_is_not_certain(bf16: object) -> None:
    """An error whose condition does not hold, or may not hold, is not told."""
    assert raised(CONFIG, fp16=True, bf16=bf16) is None


def test_says_nothing_of_the_environment() -> None:
    """A condition on what no source tells is neither true nor false, and what it guards is left out of the program."""
    source = """
    class C(Base):
        def __init__(self, a):
            if not is_torch_available():
                raise ImportError("no torch")
            if os.environ.get("X") or a:
                raise ValueError("a")
    """
    assert "torch" not in str(reduced(source))
    assert raised(source, a=False) is None
    assert raised(source, a=True) is not None


def test_what_differs_after_two_ways_is_not_known() -> None:
    """After a condition that may hold or not, a name has a value only if both ways give it the same."""
    source = """
    class C(Base):
        def __init__(self, a):
            if torch.cuda.is_available():
                b = 1
                c = 2
            else:
                b = 1
                c = 3
            if b == 1 and a:
                raise ValueError("b")
            if c == 2 or c == 3:
                raise ValueError("c")
    """
    assert raised(source, a=False) is None
    assert str(raised(source, a=True)).count("message='b'") == 1


def test_nothing_after_a_possible_return_is_certain() -> None:
    """A return on a way that may be gone leaves what follows it uncertain, but not what its caller does."""
    source = """
    class C(Base):
        def __init__(self, a):
            self._check(a)
            if a == 2:
                raise ValueError("outer")
        def _check(self, a):
            if torch.cuda.is_available():
                return
            if a:
                raise ValueError("inner")
    """
    assert raised(source, a=1) is None
    assert "outer" in str(raised(source, a=2))


def test_a_way_that_raises_is_not_gone_on() -> None:
    """Where one way may raise, what comes after it is as the other way leaves it."""
    source = """
    class C(Base):
        def __init__(self, a, gpu):
            if gpu:
                raise ValueError("gpu")
            elif a:
                b = 1
            if b == 1:
                raise ValueError("b")
    """
    assert "'b'" in str(raised(source, a=True, gpu=HIDDEN))
    assert "'gpu'" in str(raised(source, a=True, gpu=True))


DERIVED = """
@dataclass
class C(Base):
    def __post_init__(self):
        self.bf16 = not self.fp16 if self.bf16 is None else self.bf16
        super().__post_init__()
        if self.steps > 10:
            raise ValueError(f"{self.steps} steps")
"""
BASE = """
@dataclass
class C:
    def __post_init__(self):
        self.mode = Mode(self.mode)
        if self.mode == Mode.STEPS and self.steps is None:
            self.steps = self.logging_steps
        if self.fp16 and self.bf16:
            raise ValueError("both")
"""


def test_a_base_sees_what_the_class_changed_and_the_other_way_round() -> None:
    """Attributes go through `super()` in the order in which the classes change them."""
    given = {"fp16": True, "bf16": None, "mode": "no", "steps": 5, "logging_steps": 20}

    assert raised(DERIVED, BASE, **given) is None
    assert "both" in str(raised(DERIVED, BASE, **{**given, "bf16": True}))
    assert "20 steps" in str(raised(DERIVED, BASE, **{**given, "mode": "steps", "steps": None}))


@pytest.mark.parametrize("mode", ["steps", LibraryName("lib.Mode.STEPS")])
def test_members_of_an_enum_count_by_their_values(mode: object) -> None:
    """A text and the member that it names are the same; what is no member is left to others."""
    given = {"fp16": False, "bf16": False, "steps": None, "logging_steps": 20}

    assert "20 steps" in str(raised(DERIVED, BASE, mode=mode, **given))
    assert raised(DERIVED, BASE, mode="never", **given) is None


def test_the_error_is_about_what_an_assignment_came_from() -> None:
    """A condition on a value reads the arguments that it was made from."""
    notice = raised(DERIVED, BASE, fp16=False, bf16=False, mode="steps", steps=None, logging_steps=20)

    assert notice is not None
    assert notice.reads[0] == {"train.logging_steps"}


TRAINER = """
class C(Base):
    def __init__(self, model, args=None, rewards=None, **kwargs):
        if not isinstance(rewards, list):
            rewards = [rewards]
        for i, each in enumerate(rewards):
            rewards[i] = load(each)
        if args.weights is not None:
            if len(args.weights) != len(rewards):
                raise ValueError(f"{len(args.weights)} weights, {len(rewards)} rewards")
        if args.loss not in LOSSES:
            raise ValueError("loss")
        if isinstance(args, Base) and not isinstance(args, Config):
            raise TypeError("args")
        if Version(transformers.__version__) < Version("5.0.0"):
            raise ImportError("old")
        logger.warning("`x` will be ignored")
        super().__init__(model=model, args=args, **kwargs)
"""
ROOT = """
class C:
    def __init__(self, model=None, args=None, data=None):
        self.args = args
        self.data = data
        self._validate()
    def _validate(self):
        args = self.args
        if args.evaluates and self.data is None:
            raise ValueError(f"no data for {type(args.loss).__name__}")
"""


def settings(**values: Any) -> Instance:
    given = {"weights": None, "loss": "nll", "evaluates": False, **values}
    return Instance(
        "lib.Config", {name: KnownValue(value, frozenset({f"train.{name}"})) for name, value in given.items()}
    )


def test_a_trainer_reads_the_settings_it_is_given() -> None:
    """Attributes of an argument are known as far as what made it is, through `super()` and `**kwargs` too."""
    ancestors = {"lib.Config": ("lib.Config", "lib.Base")}
    function = LocalName("f", "function")

    def notice(*, data: object = None, rewards: object = function, **values: Any) -> Notice | None:
        given = {"model": "m", "args": settings(**values), "rewards": rewards, "data": data}
        return made(TRAINER, ROOT, ancestors=ancestors, **given).raised

    assert notice() is None
    assert "1 weights, 2 rewards" in str(notice(weights=[1.0], rewards=[function, HIDDEN]))
    assert notice(weights=[1.0]) is None
    assert notice(weights=[1.0], rewards=HIDDEN) is None
    assert "loss" in str(notice(loss="x"))
    assert "no data for str" in str(notice(evaluates=True))
    assert notice(evaluates=True, data=CallResult("datasets.load_dataset", "dataset")) is None
    assert notice(evaluates=True, data=HIDDEN) is None


def test_warns_of_what_is_ignored() -> None:
    """A certain warning that something has no effect is kept; it stops nothing."""
    outcome = made(TRAINER, ROOT, model="m", args=settings())

    assert [each.message for each in outcome.warned] == ["`x` will be ignored"]
    assert outcome.made is not None
    assert outcome.made.attributes["data"].value is None


def test_forgets_what_it_does_not_follow() -> None:
    """Loops, `try`, `setattr` and methods without checks may change what they name; nothing is known of it any more."""
    source = """
    @dataclass
    class C(Base):
        def __post_init__(self):
            for _ in range(unknown):
                self.a = 1
            try:
                self.b = int(self.b)
            except ValueError:
                pass
            self._quiet()
            del self.d[0]
            if self.a or self.b or self.c or self.d:
                raise ValueError("known")
        def _quiet(self):
            self.c = read()
    """
    assert raised(source, a=1, b=1, c=1, d=[1]) is None
    assert raised(source.replace("self.c or", "self.e or"), a=1, b=1, c=1, d=[1], e=1) is not None


def test_loops_over_what_is_written_are_written_out() -> None:
    """A loop over a class's own list runs for each of its names."""
    source = """
    @dataclass
    class C(Base):
        NAMES = ["a", "b"]
        def __post_init__(self):
            for name in self.NAMES:
                value = getattr(self, name)
                if value is not None and value < 0:
                    raise ValueError(f"{name}: {value}")
    """
    assert raised(source, a=1, b=None) is None
    assert "b: -1" in str(raised(source, a=1, b=-1))


def test_a_method_that_a_class_overrides_is_its_own() -> None:
    """A base that calls a check calls the class's own, where it has one."""
    base = """
    class C:
        def __init__(self, bits):
            self.bits = bits
            self.post_init()
        def post_init(self):
            if self.bits > 8:
                raise ValueError("bits")
    """
    own = """
    class C(Base):
        def __init__(self, bits):
            super().__init__(bits)
        def post_init(self):
            pass
    """
    assert raised(base, bits=9) is not None
    assert raised(own, base, bits=9) is None


def test_long_words_are_cut() -> None:
    """A message keeps its first three hundred characters or so."""
    source = CONFIG.replace("not both of", "word " * 200)
    notice = raised(source, fp16=True, bf16=True)

    assert notice is not None
    assert len(notice.message) < 320
    assert notice.message.endswith("…")


def test_nothing_is_kept_of_a_class_without_checks() -> None:
    """A class that cannot raise has no program, unless it keeps a base's checks from running."""
    source = "class C{}:\n    def __init__(self, a):\n        self.a = a\n"

    assert reduced(source.format("")) is None
    assert reduced(source.format("(Base)")) is not None


PLAIN = (
    some.none() | some.booleans() | some.integers(-3, 3) | some.sampled_from(["no", "steps", "x", ""]) | some.just([1])
)


@given(some.fixed_dictionaries(dict.fromkeys(("fp16", "bf16", "mode", "steps", "logging_steps"), PLAIN)), some.data())
def test_knowing_less_never_finds_more(values: dict[str, Any], data: some.DataObject) -> None:
    """What is found with some values hidden is found with all of them known too: a finding is certain."""
    hidden = data.draw(some.sets(some.sampled_from(sorted(values))))
    partly = {name: HIDDEN if name in hidden else value for name, value in values.items()}
    less, more = raised(DERIVED, BASE, **partly), raised(DERIVED, BASE, **values)

    if less is not None and values["mode"] in MODES.values():
        assert more is not None
