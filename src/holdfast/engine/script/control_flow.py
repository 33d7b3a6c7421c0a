"""What may keep a line of a script from being reached, or from ending the run, by its syntax alone."""

import ast


def is_conditional(text: str, line: int) -> bool:
    r"""True if a line is only reached under a condition; where the text is no plain Python, it may be.

    >>> is_conditional("if push:\n    trainer.push_to_hub()", 2)
    True
    >>> is_conditional("if __name__ == '__main__':\n    trainer.push_to_hub()", 2)
    False
    """
    tree = _parsed(text)
    if tree is None:
        return True
    branches = (
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "__name__" not in ast.unparse(node.test)
    )
    return any(node.lineno <= line <= (node.end_lineno or line) for node in branches)


def swallowing_line(text: str) -> int | None:
    r"""Return the line of a `try` around `.train()` that goes on whatever it raises; 1 where the text is no plain Python.

    >>> swallowing_line("try:\n    trainer.train()\nexcept Exception:\n    print('failed')")
    1
    """
    tree = _parsed(text)
    if tree is None:
        return 1
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Try) and _trains(node.body))
    return next((node.lineno for node in found if not all(map(_ends, node.handlers))), None)


def _trains(body: list[ast.stmt]) -> bool:
    calls = (node.func for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Attribute) and called.attr == "train" for called in calls)


def _ends(handler: ast.ExceptHandler) -> bool:
    """True if a handler raises again, or leaves."""
    nodes = [node for statement in handler.body for node in ast.walk(statement)]
    leaves = (node.attr for node in nodes if isinstance(node, ast.Attribute))
    return any(isinstance(node, ast.Raise) for node in nodes) or "exit" in leaves or "_exit" in leaves


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
