"""Values while the checks of a constructor run: what is known of each name, and which of the user's arguments it comes from."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from holdfast.core.job.calls import CallResult, LibraryName, LocalName
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import UNKNOWN, evaluate, is_known, truth

TYPES: Final[Mapping[str, type]] = {
    each.__name__: each for each in (bool, bytes, dict, float, int, list, set, str, tuple, type)
}
PLAIN_ALONE: Final = frozenset(TYPES.keys() - {"dict", "type"})
"""Classes of which no object of a library is an instance: a `DatasetDict` is a dict."""
ABSTRACT: Final = frozenset({"Callable", "Collection", "Hashable", "Integral", "Iterable", "Mapping", "MutableMapping"})
"""Classes that plain values may be instances of, beside their own."""

ADAPTING: Final = re.compile(r"^peft\.(get_peft_model|PeftModel\w*\.from_pretrained|AutoPeft\w+\.from_pretrained)$")
LIBRARIES: Final = frozenset({"trl", "transformers", "peft", "datasets", "accelerate", "torch"})
"""Packages whose classes and loading functions never give None."""

NEVER_NONE: Final = re.compile(r"(from_|load_|concatenate_|interleave_|get_peft_model$|[A-Z]).*")
RELEASE: Final = re.compile(r"(\d+(?:\.\d+)*)(.*)")
PLAIN: Final = (str, bytes, int, float, list, tuple, dict, set, type(None))


@dataclass(frozen=True, slots=True)
class KnownValue:
    """What is known of a value.

    Attributes:
        value: The value, or `Unknown`.
        keys: The arguments, among those that the user wrote, that it comes from.
    """

    value: Any
    keys: frozenset[str] = frozenset()

    def join(self, other: "KnownValue", decided_by: frozenset[str] = frozenset()) -> "KnownValue":
        """Return the value known to be either of two; where they differ, it also depends on the deciding condition."""
        same = type(self.value) is type(other.value) and self.value == other.value
        keys = self.keys | other.keys
        return KnownValue(self.value, keys) if same else KnownValue(UNKNOWN, keys | decided_by)


BLANK: Final = KnownValue(UNKNOWN)


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """What a constructor made.

    Attributes:
        path: The class.
        attributes: What is known of its attributes; the others are not known.
    """

    path: str
    attributes: Mapping[str, KnownValue]


class State(NamedTuple):
    """What is known at one point of a program. A state is never changed, nor is a mapping in it.

    Attributes:
        names: What names hold.
        attributes: What attributes of instances hold, by the instance's identity.
    """

    names: Mapping[str, KnownValue] = MappingProxyType({})
    attributes: Mapping[int, Mapping[str, KnownValue]] = MappingProxyType({})

    def with_name(self, name: str, value: KnownValue) -> "State":
        """Return the state in which a name holds a value."""
        return State({**self.names, name: value}, self.attributes)

    def with_attributes(self, instance: int, attributes: Mapping[str, KnownValue]) -> "State":
        """Return the state in which these are the attributes of an instance."""
        return State(self.names, {**self.attributes, instance: attributes})


@dataclass(frozen=True, slots=True)
class Values:
    """How expressions of a program are evaluated.

    Attributes:
        versions: The libraries' versions, by package.
        ancestors: Gives the dotted paths of a class and its bases.
    """

    versions: Mapping[str, str]
    ancestors: Callable[[str], Sequence[str]]

    def known(self, node: ast.expr, state: State) -> KnownValue:
        """Return the known value of an expression."""
        if isinstance(node, ast.Name | ast.Attribute):
            return self._found(node, state)
        return KnownValue(evaluate(node, self._lookup(state)), self.keys(node, state))

    def truth(self, test: ast.expr, state: State) -> bool | Unknown:
        """True if a condition holds, if that is certain."""
        return truth(evaluate(test, self._lookup(state)))

    def keys(self, node: ast.expr, state: State) -> frozenset[str]:
        """Return the user's arguments that an expression reads."""
        return frozenset[str]().union(*(self._found(each, state).keys for each in _all_reads(node)))

    def rendered(self, message: ast.expr, state: State) -> str:
        """Return an error's words, with `…` for each value in them that is not known."""
        parts = message.values if isinstance(message, ast.JoinedStr) else [message]
        texts = (evaluate(part, self._lookup(state)) for part in parts)
        return "".join(text if isinstance(text, str) else "…" for text in texts)

    def assign(self, target: ast.expr, value: KnownValue, state: State) -> State:
        """Return the state after an assignment; giving `__dict__` a value forgets all attributes."""
        if isinstance(target, ast.Name):
            return self.unpack(value.value, state.with_name(target.id, value))
        if not isinstance(target, ast.Attribute):
            return state
        owner = self._found(target.value, state).value
        if not isinstance(owner, Instance):
            return state
        if target.attr == "__dict__":
            return state.with_attributes(id(owner), {})
        held = {**state.attributes.get(id(owner), {}), target.attr: value}
        return self.unpack(value.value, state.with_attributes(id(owner), held))

    def unpack(self, value: Any, state: State) -> State:
        """Return the state with the attributes of an instance in it, but those that it has already."""
        if not isinstance(value, Instance):
            return state
        held = state.attributes.get(id(value), {})
        if not value.attributes.keys() <= held.keys():
            state = state.with_attributes(id(value), {**value.attributes, **held})
        for known in value.attributes.values():
            if isinstance(known.value, Instance):
                state = self.unpack(known.value, state)
        return state

    def pack(self, instance: Instance, state: State) -> Instance:
        """Return an instance with the attributes that it has in a state."""
        return Instance(instance.path, state.attributes.get(id(instance), {}))

    def join(self, one: State, other: State, decided_by: frozenset[str] = frozenset()) -> State:
        """Return the state after one of two branches. States are never changed: on many branches nothing is assigned.

        Args:
            one: The state after the one.
            other: The state after the other.
            decided_by: The user's arguments that decide which of them is gone.
        """
        if one is other:
            return one
        shared = one.attributes.keys() & other.attributes.keys()
        return State(
            _joined(one.names, other.names, decided_by),
            {each: _joined(one.attributes[each], other.attributes[each], decided_by) for each in shared},
        )

    def _found(self, node: ast.expr, state: State) -> KnownValue:
        if isinstance(node, ast.Name):
            return state.names.get(node.id, BLANK)
        if isinstance(node, ast.Attribute):
            owner = self._found(node.value, state)
            if isinstance(owner.value, Instance):
                return state.attributes.get(id(owner.value), {}).get(node.attr, BLANK)
            return KnownValue(UNKNOWN, owner.keys)
        return BLANK

    def _lookup(self, state: State) -> Callable[[ast.expr], Any]:
        def look(node: ast.expr) -> Any:
            match node:
                case ast.Name(name):
                    return state.names.get(name, BLANK).value
                case ast.Attribute(value=ast.Call(func=ast.Name("type"), args=[of]), attr="__name__"):
                    return _type_name(evaluate(of, look))
                case ast.Attribute():
                    return self._found(node, state).value
                case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
                    return self._each(node, state)
                case ast.Call(func=ast.Name(name)):
                    return self._call_answer(name, node, [evaluate(each, look) for each in node.args])
                case _:
                    return UNKNOWN

        return look

    def _call_answer(self, name: str, node: ast.Call, values: Sequence[Any]) -> Any:
        """Return the answer to a question that a program asks by a call."""
        match name, values:
            case "isinstance", [value, _]:
                return self._is_instance(value, node.args[1])
            case "choice", [value]:
                return _choice(value, node.keywords)
            case "version_of", [package]:
                return _release(self.versions.get(str(package), UNKNOWN))
            case _:
                return QUESTIONS[name](*values) if name in QUESTIONS else UNKNOWN

    def _each(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp, state: State) -> Any:
        """Return the elements of a comprehension over one list."""
        comprehension, *others = node.generators
        items = evaluate(comprehension.iter, self._lookup(state))
        if others or comprehension.ifs or not isinstance(comprehension.target, ast.Name) or not _is_listed(items):
            return UNKNOWN
        name = comprehension.target.id
        found = [evaluate(node.elt, self._lookup(state.with_name(name, KnownValue(item)))) for item in items]
        return set(found) if isinstance(node, ast.SetComp) and is_known(found) else found

    def _is_instance(self, value: Any, kinds: ast.expr) -> bool | Unknown:
        answers = [self._is_a(value, name) for name in _class_names(kinds)]
        if any(answer is True for answer in answers):
            return True
        return False if answers and all(answer is False for answer in answers) else UNKNOWN

    def _is_a(self, value: Any, name: str) -> bool | Unknown:
        if isinstance(value, PLAIN):
            return _is_plain(value, name)
        if name in PLAIN_ALONE and _is_object(value):
            return False
        return self._is_of(value, name) if isinstance(value, Instance | CallResult) else UNKNOWN

    def _is_of(self, value: Instance | CallResult, name: str) -> bool | Unknown:
        """True if a class of that name is the class of what was made, or one of its bases."""
        bases = self.ancestors(value.path)
        if name in _names_of(value, bases):
            return True
        sure = isinstance(value, Instance) and bases and not any(each.startswith("?") for each in bases)
        return False if sure else UNKNOWN


def _joined(
    one: Mapping[str, KnownValue], other: Mapping[str, KnownValue], decided_by: frozenset[str]
) -> Mapping[str, KnownValue]:
    if one is other:
        return one
    return {
        key: known.join(other[key], decided_by) if known is not other[key] else known
        for key, known in one.items()
        if key in other
    }


def _is_plain(value: Any, name: str) -> bool | Unknown:
    """True if a plain value is of a class; an abstract one, or no class at all, may be anything."""
    if name in TYPES:
        return isinstance(value, TYPES[name])
    is_class = name[:1].isupper() or name == "dtype"
    return UNKNOWN if value is not None and (name in ABSTRACT or not is_class) else False


def _is_none(value: Any) -> bool | Unknown:
    if isinstance(value, CallResult):
        return False if _is_something(value) or _is_rows(value) else UNKNOWN
    return UNKNOWN if isinstance(value, Unknown) else value is None


def _is_adapted(value: Any) -> bool | Unknown:
    """True if a model has an adapter of peft."""
    if isinstance(value, CallResult):
        return True if ADAPTING.search(value.path) else UNKNOWN
    return UNKNOWN if isinstance(value, Unknown | Instance) else False


def _same(one: Any, other: Any) -> bool | Unknown:
    """True if two values are one object."""
    if isinstance(one, CallResult) and one == other and one.key:
        return True
    plain = (one is None or isinstance(one, bool), other is None or isinstance(other, bool))
    if all(plain):
        return one is other
    return (
        False
        if any(plain) and not isinstance(one, Unknown | CallResult) and not isinstance(other, Unknown | CallResult)
        else UNKNOWN
    )


def _adapted() -> CallResult:
    return CallResult("peft.get_peft_model", "")


def _is_something(value: CallResult) -> bool:
    """True if what a call gave is an object of a library for certain, neither None nor text nor a number."""
    package, _, last = value.path.partition(".")
    return package in LIBRARIES and NEVER_NONE.match(last.rpartition(".")[2]) is not None


def _names_of(value: Instance | CallResult, bases: Sequence[str]) -> set[str]:
    """Return the names of the class of what was made, and of its bases; a model with an adapter is a `PeftModel` too."""
    names = {each.rpartition(".")[2] for each in (value.path, *bases)}
    return names | {"PeftModel"} if _is_adapted(value) is True else names


def _is_object(value: Any) -> bool:
    """True of an object of a library, or of a function or class of the program."""
    return isinstance(value, LocalName) or (isinstance(value, CallResult) and _is_something(value))


def _is_rows(value: CallResult) -> bool:
    """True if a value is an item of loaded data: a split, a column or a row."""
    return value.path.startswith("datasets.") and value.path.endswith("()[]")


def _counts(value: Any) -> bool | Unknown:
    return True if isinstance(value, LibraryName | LocalName) else truth(value)


def _length(value: Any) -> int | Unknown:
    return len(value) if isinstance(value, str | list | tuple | dict | set) else UNKNOWN


def _touched(value: Any) -> list[Unknown] | Unknown:
    """Return a list of which some elements were replaced: as long as it was. Anything else may be anything now."""
    return [UNKNOWN] * len(value) if isinstance(value, list) else UNKNOWN


def _choice(value: Any, keywords: Iterable[ast.keyword]) -> Any:
    """Return the value of an enum's member, given by value or as the member itself; Unknown if there is none such."""
    members = {str(each.arg): each.value.value for each in keywords if isinstance(each.value, ast.Constant)}
    if isinstance(value, LibraryName):
        return members.get(value.path.rpartition(".")[2], UNKNOWN)
    return value if isinstance(value, str) and value in members.values() else UNKNOWN


def _release(text: Any) -> Any:
    """Return a version as something that compares: its numbers, then -1 if it comes before the release of that number."""
    found = RELEASE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return UNKNOWN
    numbers = [int(part) for part in found[1].split(".")]
    return (*numbers[:4], *[0] * (4 - len(numbers)), -1 if found[2] and not found[2].startswith((".post", "+")) else 0)


def _is_listed(items: Any) -> bool:
    return isinstance(items, list | tuple | set | dict)


def _type_name(value: Any) -> Any:
    return type(value).__name__ if isinstance(value, PLAIN) else UNKNOWN


def _class_names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            yield name
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _class_names(part)
        case ast.BinOp(left=left, right=right):
            yield from _class_names(left)
            yield from _class_names(right)
        case _:
            yield ""


@cache
def _all_reads(node: ast.expr) -> tuple[ast.expr, ...]:
    """Return the names and attributes in an expression of a program, each whole. Programs are parsed once, and stay."""
    return tuple(_reads(node))


def _reads(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the names and attributes in an expression, each whole."""
    if isinstance(node, ast.Name | ast.Attribute):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _reads(child)
        else:
            yield from (
                each for part in ast.iter_child_nodes(child) if isinstance(part, ast.expr) for each in _reads(part)
            )


QUESTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "is_none": _is_none,
    "is_peft_model": _is_adapted,
    "truthy": _counts,
    "get_peft_model": _adapted,
    "length": _length,
    "same": _same,
    "touched": _touched,
    "Version": _release,
}
