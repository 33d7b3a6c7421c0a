"""Which fields a dataclass of a library has, or had in any release: whose a flag of a command line is."""

from functools import cache

from holdfast.catalog.api import Api, newest


def ever_takes(path: str, name: str) -> bool:
    """True if a class has a field in any release.

    >>> ever_takes("trl.ModelConfig", "torch_dtype"), ever_takes("trl.ModelConfig", "learning_rate")
    (True, False)
    """
    return bool(path) and bool(_newest().parameter_spans(path, name))


@cache
def newest_names(path: str) -> frozenset[str]:
    """Return the fields of a class in the newest release; none if it is not known."""
    signature = _newest().signature(path) if path else None
    return frozenset(signature.parameters) if signature else frozenset()


@cache
def _newest() -> Api:
    return Api(newest())
