"""The values that a class accepts for a field and refuses all others."""

import ast
from collections.abc import Iterator

from holdfast.history.values import ConstantFolder, constants

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def enforced_choices(scope: ConstantFolder, node: FunctionNode) -> Iterator[tuple[str, list[object]]]:
    """Yield each field that a `__post_init__` checks against a list of values, with that list.

    A conversion by an enum (`self.optim = OptimizerNames(self.optim)`) refuses what is none of its values. So does
    `if self.x not in [...]: raise` where nothing else guards it.
    """
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Call(func=enum, args=[ast.Attribute(value=ast.Name(id="self"), attr=same)]),
            ) if name == same and (members := scope.enum(enum)):
                yield name, list(members.values())
            case _:
                pass
    for statement in node.body:
        match statement:
            case ast.If(
                test=ast.Compare(
                    left=ast.Attribute(value=ast.Name(id="self"), attr=name), ops=[ast.NotIn()], comparators=[values]
                ),
                body=[*_, ast.Raise()],
            ) if choices := constants(scope.rewritten(values)):
                yield name, choices
            case _:
                pass
