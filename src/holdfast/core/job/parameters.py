"""Parameters of functions, as their source states them."""

import ast


def parameter_names(parameters: ast.arguments) -> tuple[str, ...]:
    """Return the names of the parameters that a function takes, in order.

    >>> parameter_names(ast.parse("def score(completions, answer, scale=1, *, unit, **rest): ...").body[0].args)
    ('completions', 'answer', 'scale', 'unit')
    """
    return (*positional_names(parameters), *(each.arg for each in parameters.kwonlyargs))


def positional_names(parameters: ast.arguments) -> tuple[str, ...]:
    """Return the names of the parameters that may be given by position, in order."""
    return tuple(each.arg for each in (*parameters.posonlyargs, *parameters.args))


def required_parameters(parameters: ast.arguments) -> tuple[str, ...]:
    """Return the names of the parameters that have no default, in order.

    >>> tree = ast.parse("def score(completions, answer, scale=1, *, unit, **rest): ...")
    >>> required_parameters(tree.body[0].args)
    ('completions', 'answer', 'unit')
    """
    positional = [*parameters.posonlyargs, *parameters.args]
    first = positional[: len(positional) - len(parameters.defaults)]
    keywords = (
        one for one, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if default is None
    )
    return tuple(each.arg for each in (*first, *keywords))
