"""A thing through its releases: when it existed, and what its values were."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from holdfast.history.entries import Callee, ClassEntry, ModuleEntry, ParameterEntry
from holdfast.history.format.ranges import Column
from holdfast.history.format.weave import Weave


@dataclass(slots=True)
class Node:
    """A thing through its releases: where it exists, its values, and its parts by kind and name."""

    exists: Column = field(default_factory=Column)
    values: dict[str, Column] = field(default_factory=dict[str, Column])
    parts: dict[str, dict[Any, "Node"]] = field(default_factory=dict[str, dict[Any, "Node"]])
    texts: dict[str, Weave] = field(default_factory=dict[str, Weave])

    def put(self, index: int, **values: Any) -> None:
        """Say that it exists in a release, and what its values are."""
        self.exists.put(index, value=True)
        for key, value in values.items():
            self.values.setdefault(key, Column()).put(index, value)

    def part(self, kind: str, name: Any) -> "Node":
        """Return a part, made if it is new."""
        return self.parts.setdefault(kind, {}).setdefault(name, Node())

    def columns(self) -> Iterator[Column]:
        """Yield every column, those of the parts included."""
        yield self.exists
        yield from self.values.values()
        for named in self.parts.values():
            for part in named.values():
                yield from part.columns()
        for text in self.texts.values():
            yield from (column for column, _ in text.lines)


def put_module(node: Node, index: int, entry: ModuleEntry) -> None:
    """Record the names that a module has in a release."""
    node.put(index, star=entry.dynamic)
    for name, home in entry.names.items():
        node.part("names", _placed(name, home)).put(index)


def _placed(name: str, home: str) -> tuple[str, str]:
    """Return the module that a name is described under, and the name; with another after a colon, if it has that there.

    >>> _placed("SFTConfig", "trl.trainer.sft_config.SFTConfig"), _placed("api", ""), _placed("a", "trl.x.b")
    (('trl.trainer.sft_config', 'SFTConfig'), ('', 'api'), ('trl.x', 'a:b'))
    """
    module, _, original = home.rpartition(".")
    return (module, name) if original in {name, ""} else (module, f"{name}:{original}")


def put_callee(node: Node, index: int, callee: Callee, **more: Any) -> None:
    """Record the parameters of a callee in a release."""
    node.put(
        index,
        o=" ".join(callee.parameters),
        n=callee.positional,
        kw=callee.keywords,
        shims=callee.shims,
        dep=callee.deprecated,
        **more,
    )
    for name, parameter in callee.parameters.items():
        _put_parameter(node.part("p", name), index, parameter)


def put_class(node: Node, index: int, entry: ClassEntry) -> None:
    """Record the parameters of a class in a release."""
    put_callee(node, index, entry, k=entry.kind, b=entry.bases, ancestors=entry.ancestors)
    for name, method in entry.methods.items():
        put_callee(node.part("m", name), index, method)
    for name, program in entry.checks.items():
        node.texts.setdefault(name, Weave()).put(index, program)


def _put_parameter(node: Node, index: int, parameter: ParameterEntry) -> None:
    node.put(
        index,
        d=parameter.default,
        annotation=parameter.annotation,
        c=parameter.choices,
        e=parameter.enforced,
        h=parameter.home,
    )
    for warned in dict.fromkeys(parameter.warnings):
        node.part("w", warned).put(index)
