"""Questions that can be answered of a value of which little is known, put into the checks of a constructor as calls.

`x is None` becomes `is_none(x)`; `core/job/constructor_values.py` has the answers.
"""

import ast


class Questions(ast.NodeTransformer):
    """What can be answered of a value that is not known: `x is None`, and whether a name counts as true in a test."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Ask whether something is None by a call."""
        self.generic_visit(node)
        match node:
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(None)]):
                return _question("is_none", left)
            case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(None)]):
                return ast.UnaryOp(ast.Not(), _question("is_none", left))
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Name() | ast.Attribute() as other]):
                return ast.Call(ast.Name("same", ast.Load()), [left, other], [])
            case _:
                return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Ask for a length by a name of our own: it is known of a list of things that are not."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name("len"), args=[of]):
                return _question("length", of)
            case _:
                return node

    def visit_If(self, node: ast.If) -> ast.If:
        """Ask whether a condition's names count as true by calls."""
        self.generic_visit(node)
        node.test = _tested(node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        """Likewise."""
        self.generic_visit(node)
        node.test = _tested(node.test)
        return node


def _tested(node: ast.expr) -> ast.expr:
    match node:
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(op, [_tested(each) for each in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.UnaryOp(ast.Not(), _tested(operand))
        case ast.Name() | ast.Attribute():
            return _question("truthy", node)
        case _:
            return node


def _question(name: str, argument: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [argument], [])
