"""What a library's constructor checks, as a small program that is run on arguments which are only partly known.

A program is the method of one class, reduced to what decides whether it raises (`history.checks.reducing`), in Python's own
syntax; `...` stands for what the reduction does not understand. Running it is three-valued: at a condition that is
neither certainly true nor certainly false both branches are run, and what differs after them is `Unknown`. An error counts
only where every condition on the way to it is certain. Nothing of the library is executed.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, starmap
from typing import Final

from holdfast.core.job.constructor_questions import Questions
from holdfast.core.job.constructor_values import BLANK, Instance, KnownValue, State, Values
from holdfast.core.job.document import Unknown
from holdfast.core.job.parameters import positional_names

Test = tuple[ast.expr, State]
"""A condition, with the state in which it is read."""
DEEPEST: Final = 20
"""Calls within calls; a constructor of a library goes through four or five."""


@dataclass(frozen=True, slots=True)
class MethodChecks:
    """The checks of one method of one class.

    Attributes:
        home: Dotted path of the class: `trl.trainer.sft_config.SFTConfig`.
        method: `__post_init__` or `__init__`.
        text: Function definitions in Python's syntax: the method first, then those of the class that it calls.
    """

    home: str
    method: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """An error that a constructor raises, or a warning that it gives, on its way to the end.

    Attributes:
        exception: Name of the exception; empty for a warning.
        message: Its words, with the values in them that are known; `…` for the others.
        reads: Which of the given arguments the conditions on the way there read: the innermost condition first, and
            only those conditions that read any.
        home: The class whose method says so.
    """

    exception: str
    message: str
    reads: tuple[frozenset[str], ...]
    home: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a construction.

    Attributes:
        made: What was made, with the attributes that are known of it; where it raises, with the arguments that were given.
        errors: The error that it certainly raises, and those that it raises once that one is fixed: the conditions of
            each read other arguments than the conditions of those before it.
        warned: What it certainly warns of before that.
        doubted: The errors that it may raise, by conditions on the way there that are not certain.
    """

    made: Instance
    errors: tuple[Notice, ...] = ()
    warned: tuple[Notice, ...] = ()
    doubted: tuple[Notice, ...] = ()

    @property
    def raised(self) -> Notice | None:
        """The error that it certainly raises."""
        return self.errors[0] if self.errors else None


def construct(
    path: str,
    programs: Sequence[MethodChecks],
    arguments: Mapping[str, KnownValue],
    *,
    versions: Mapping[str, str] | None = None,
    ancestors: Callable[[str], Sequence[str]] = lambda _: (),
) -> Outcome:
    r"""Run the checks of a class on its arguments.

    Args:
        path: The class.
        programs: Its own checks and those of its ancestors, nearest first.
        arguments: The arguments, by name; for a dataclass with its defaults, without keys.
        versions: The libraries' versions, for checks that ask for them.
        ancestors: Gives the dotted paths of a class and its bases, for checks of a value's type.

    >>> text = "def __post_init__(self):\n    if self.a and self.b:\n        raise ValueError(f'not both, {self.a}')"
    >>> both = {"a": KnownValue(1, frozenset({"train.a"})), "b": KnownValue(True)}
    >>> construct("lib.Config", [MethodChecks("lib.Config", "__post_init__", text)], both).raised.message
    'not both, 1'
    """
    if not programs:
        return Outcome(Instance(path, arguments))
    run = _Run(programs, Values(versions or {}, ancestors))
    method = programs[0].method
    made = Instance(path, {} if method == "__init__" else arguments)
    state = run.values.unpack(made, State())
    state, _ = run.call(method, -1, state, _bound(made, arguments if method == "__init__" else {}))
    if run.errors:
        written = {name: known for name, known in arguments.items() if known.keys}
        return Outcome(Instance(path, written), tuple(run.errors), tuple(run.warned), tuple(run.doubted))
    return Outcome(run.values.pack(made, state), (), tuple(run.warned), tuple(run.doubted))


@dataclass(slots=True)
class _Frame:
    """One call of one function: whose it is, and what it has returned so far."""

    index: int
    returned: list[tuple[State, KnownValue]] = field(default_factory=list[tuple[State, KnownValue]])
    doubts: list[Test] = field(default_factory=list[Test])
    tests: list[Test] = field(default_factory=list[Test])


@dataclass(slots=True)
class _Run:
    programs: Sequence[MethodChecks]
    values: Values
    errors: list[Notice] = field(default_factory=list[Notice])
    warned: list[Notice] = field(default_factory=list[Notice])
    doubted: list[Notice] = field(default_factory=list[Notice])
    frames: list[_Frame] = field(default_factory=list[_Frame])
    unsure: int = 0

    def call(
        self, name: str, after: int, state: State, arguments: Mapping[str, KnownValue]
    ) -> tuple[State, KnownValue]:
        """Run the nearest definition of a method behind `after`, and return the state after it and its value."""
        found = self._definition(name, after)
        if found is None or len(self.frames) > DEEPEST:
            return state, BLANK
        index, function = found
        named = dict(_parameters(function, arguments, self.values))
        inside = State({**named, **dict(_more_parameters(function.args, arguments))}, state.attributes)
        for known in named.values():
            inside = self.values.unpack(known.value, inside)
        frame = _Frame(index)
        self.frames.append(frame)
        ended = self._block(function.body, inside)
        self.frames.pop()
        exits = frame.returned + ([(ended, KnownValue(None))] if ended is not None else [])
        if not exits:
            return State(state.names), BLANK  # every way through it raises, though not certainly
        after_call, value = exits[0]
        for other, also in exits[1:]:
            after_call, value = self.values.join(after_call, other), value.join(also)
        return State(state.names, after_call.attributes), value

    def _definition(self, name: str, after: int) -> tuple[int, ast.FunctionDef] | None:
        for index, program in enumerate(self.programs):
            if index > after and (function := _functions(program.text).get(name)):
                return index, function
        return None

    def _block(self, body: Sequence[ast.stmt], state: State) -> State | None:
        """Return the state after some statements, or None if none is reached."""
        now: State | None = state
        for statement in body:
            if now is None:
                break
            now = self._statement(statement, now)
        return now

    def _statement(self, node: ast.stmt, state: State) -> State | None:
        match node:
            case ast.If():
                return self._if(node, state)
            case ast.Assign(targets=[target]):
                state, known = self._assigned(node.value, state)
                return self.values.assign(target, known, state)
            case ast.Raise() | ast.Return():
                self._leave(node, state)
                return None
            case ast.Expr():
                return self._expression(node.value, state)
            case _:
                return state

    def _leave(self, node: ast.Raise | ast.Return, state: State) -> None:
        """Note with what a function is left."""
        if isinstance(node, ast.Raise):
            self._raise(node, state)
        else:
            self.frames[-1].returned.append(self._assigned(node.value or ast.Constant(None), state))

    def _expression(self, node: ast.expr, state: State) -> State:
        match node:
            case ast.Call(func=ast.Name("warn"), args=[message]):
                self._note("", message, state, self._warned)
                return state
            case _:
                return self._assigned(node, state)[0]

    def _assigned(self, node: ast.expr, state: State) -> tuple[State, KnownValue]:
        """Return a value, after running the call of the class's own that gives it, if it is one."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("self"), attr=name)):
                after = -1
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super")), attr=name)):
                after = self.frames[-1].index
            case _:
                return state, self.values.known(node, state)
        function = self._definition(name, after)
        if function is None:
            return state, BLANK
        return self.call(name, after, state, self._arguments(node, function[1], state))

    def _arguments(self, node: ast.Call, function: ast.FunctionDef, state: State) -> dict[str, KnownValue]:
        """Return a call's arguments by parameter name; unpacked arguments that are unknown may be any."""
        names = positional_names(function.args)
        given = {"self": state.names.get("self", BLANK), **self._positional(node, names, state)}
        for keyword in node.keywords:
            if keyword.arg is not None:
                given[keyword.arg] = self.values.known(keyword.value, state)
                continue
            rest = state.names.get(f"**{ast.unparse(keyword.value)}", BLANK).value
            more = rest.attributes if isinstance(rest, Instance) else dict.fromkeys(names[1:], BLANK)
            given = {**more, **given}
        return given

    def _positional(self, node: ast.Call, names: Sequence[str], state: State) -> dict[str, KnownValue]:
        """Return the arguments that a call gives by position, by parameter name; under `*` if there may be more."""
        positional = [each for each in node.args if not self._is_empty(each, state)]
        pairs = zip(names[1:], positional, strict=False)
        given = {name: self.values.known(value, state) for name, value in pairs}
        if any(isinstance(each, ast.Starred) for each in positional) or len(positional) >= len(names):
            return {**dict.fromkeys((*names[1:], "*"), BLANK), **given}
        return given

    @staticmethod
    def _is_empty(node: ast.expr, state: State) -> bool:
        """True if an argument is `*rest` of a method that was given no more than it names."""
        return isinstance(node, ast.Starred) and state.names.get(f"*{ast.unparse(node.value)}", BLANK).value == []

    def _if(self, node: ast.If, state: State) -> State | None:
        holds = self.values.truth(node.test, state)
        if not isinstance(holds, Unknown):
            return self._decided(node, state, holds=bool(holds))
        frame = self.frames[-1]
        returned = len(frame.returned)
        self.unsure += 1
        one = self._branch(node, node.body, state)
        other = self._branch(node, node.orelse, state)
        self.unsure -= 1
        frame.doubts += [(node.test, state)] * (len(frame.returned) > returned)
        if one is None or other is None:
            return other if one is None else one
        return self.values.join(one, other, self.values.keys(node.test, state))

    def _decided(self, node: ast.If, state: State, *, holds: bool) -> State | None:
        """Return the state after the branch that is taken; where it raises, after the other, as if the error were fixed."""
        taken, other = (node.body, node.orelse) if holds else (node.orelse, node.body)
        before = len(self.errors)
        after = self._branch(node, taken, state)
        if after is None and len(self.errors) > before:
            return self._branch(node, other, state)
        return after

    def _branch(self, node: ast.If, body: Sequence[ast.stmt], state: State) -> State | None:
        tests = self.frames[-1].tests
        tests.append((node.test, state))
        try:
            return self._block(body, state)
        finally:
            tests.pop()

    def _raise(self, node: ast.Raise, state: State) -> None:
        match node.exc:
            case ast.Call(func=ast.Name(name), args=[message, *_]):
                pass
            case ast.Call(func=ast.Name(name)) | ast.Name(name):
                message = ast.Constant("")
            case _:
                return
        self._note(name, message, state, self._raised)

    def _raised(self, notice: Notice) -> None:
        """Keep an error, unless an argument that it reads was read by an error before it."""
        before, read = _keys_read(self.errors), _keys_read([notice])
        if not self.errors or (read and not read & before):
            self.errors.append(notice)

    def _warned(self, notice: Notice) -> None:
        """Keep a warning of what is reached before an error."""
        if not self.errors:
            self.warned.append(notice)

    def _note(self, exception: str, message: ast.expr, state: State, tell: Callable[[Notice], None]) -> None:
        doubts = list(chain.from_iterable(frame.doubts for frame in self.frames))
        if self.unsure or doubts:
            if not exception or self.errors:
                return
            tell = self.doubted.append
        reads = tuple(filter(None, starmap(self.values.keys, (*self._tests(), *doubts))))
        home = self.programs[self.frames[-1].index].home
        tell(Notice(exception, self.values.rendered(message, state), reads, home))

    def _tests(self) -> Iterator[Test]:
        """Yield the conditions around what is read, the innermost first."""
        for frame in reversed(self.frames):
            yield from reversed(frame.tests)


def _keys_read(notices: Iterable[Notice]) -> frozenset[str]:
    """Return the user's arguments that errors or warnings read."""
    return frozenset[str]().union(*(keys for notice in notices for keys in notice.reads))


def _bound(instance: Instance, arguments: Mapping[str, KnownValue]) -> dict[str, KnownValue]:
    return {**arguments, "self": KnownValue(instance)}


def _parameters(
    function: ast.FunctionDef, arguments: Mapping[str, KnownValue], values: Values
) -> Iterator[tuple[str, KnownValue]]:
    """Yield a function's parameters with their values: the argument, else the default, else unknown."""
    spec = function.args
    places = [*spec.posonlyargs, *spec.args]
    defaults: dict[str, ast.expr | None] = dict.fromkeys(each.arg for each in (*places, *spec.kwonlyargs))
    if spec.defaults:
        named = places[-len(spec.defaults) :]
        defaults |= {each.arg: value for each, value in zip(named, spec.defaults, strict=True)}
    defaults |= {each.arg: value for each, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)}
    for name, default in defaults.items():
        otherwise = values.known(default, State()) if default else BLANK
        yield name, arguments.get(name, otherwise)


def _more_parameters(spec: ast.arguments, arguments: Mapping[str, KnownValue]) -> Iterator[tuple[str, KnownValue]]:
    """Yield what the parameters hold that take any more arguments, under their names with the stars."""
    if spec.kwarg:
        named = {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
        rest = {name: known for name, known in arguments.items() if name not in named}
        yield f"**{spec.kwarg.arg}", KnownValue(Instance("", rest))
    if spec.vararg:
        yield f"*{spec.vararg.arg}", arguments.get("*", KnownValue([]))


@cache
def _functions(text: str) -> Mapping[str, ast.FunctionDef]:
    """Return a program's functions, by name."""
    return {each.name: each for each in Questions().visit(ast.parse(text)).body if isinstance(each, ast.FunctionDef)}


__all__ = ["BLANK", "Instance", "KnownValue", "MethodChecks", "Notice", "Outcome", "construct"]
